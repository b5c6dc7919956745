"""What is asked of the database, by noun. Each takes the caller's `ReadTx` and answers with domain records."""
