"""Where jobs are kept. `protocol` says what a store does, `connect` turns a URL into one."""
