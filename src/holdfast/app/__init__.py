"""What users touch.

app         Holdfast: the one object a program makes
task        a function that can be enqueued; `call` one call of it not yet made; `taskset` tasks without an app
options     what can be said about a task or a call; `terms` what follows from it; `arguments` what methods are given
flow_options   what can be said of a queue: order, limits, weights; `breaker` one of them
clerk       writes calls down as jobs
handle      Job: what became of one; `outcome` reads its end, `watcher` waits for many at once
queues      queues, seen and acted upon; `declarations` those that the app declares; `draining` waits until one is drained
connection  the store, opened late and once per process; `settings` say which
worker, consumer   running jobs inside this program; `blocking` refuses what would hold up an event loop
target      MODULE:APP, as commands take it
"""
