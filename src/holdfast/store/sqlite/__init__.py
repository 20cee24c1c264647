"""The SQLite store: one file, no server. Many processes of one machine may share it."""
