"""The nouns: plain values and tables. Imports the standard library only; no I/O, no clock, no randomness."""
