"""Jobs in PostgreSQL: for many machines, and for those who want their jobs beside their data."""
