"""Days of a fleet in seconds: the tick's own decision, driven over a trace on a virtual clock. Nothing is executed."""
