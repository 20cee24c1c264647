"""Carrying jobs out: given a registry and a store, it knows no app.

spec       a task as a runner sees it, and the registry of them
attempt    one claim, from its bytes to its verdict: the pipeline
judge      what an exception means for the job
evidence   an exception as bounded text
context    what a task can ask about its own run
timeouts   a limit on how long it may take
pump       a worker inside this process: slots (threads, a loop), listener, beats, upkeep
notices    what runs are told from outside: cancelled, or no longer counting
drain      everything that is due, in this thread
"""
