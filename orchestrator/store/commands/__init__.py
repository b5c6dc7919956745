"""What is told to the database, by noun. Each takes the caller's `WriteTx`; none commits."""
