"""The leader's slow effects, off the tick."""
