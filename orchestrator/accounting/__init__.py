"""Where every allocated chip-millisecond went, from the history of attempts. Pure."""
