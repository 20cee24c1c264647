"""The command line: what an operator types. It uses only what any program could use: the app and the store's doors.

main       the entry point, and the list of commands
front      the group: errors as one line, exit codes
shared     options that every command takes (`--url`, `--app`, `--namespace`, `--json`, `--debug`)
source     from those options to an open store (trust: the types and keys)
…          one file per command
"""
