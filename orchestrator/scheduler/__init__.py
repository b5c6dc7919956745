"""The scheduler: one pure function from a snapshot to a plan. No I/O, no clock, no randomness."""
