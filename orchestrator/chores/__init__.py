"""The leader's slow effects, off the tick: webhooks are told, what is too old is swept away, checkpoints expire."""
