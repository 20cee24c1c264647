"""The worker command: a supervisor that owns the store, and children that run the tasks."""
