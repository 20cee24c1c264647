"""Jobs in Redis or Valkey: one script per operation, each over the keys of one queue."""
