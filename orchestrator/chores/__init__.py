"""The leader's slow effects, off the tick: webhooks, sweeps, retention, and why each job waits."""
