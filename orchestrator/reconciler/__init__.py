"""The only loop that decides, and the pure function that it calls."""
