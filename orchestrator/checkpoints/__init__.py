"""Which committed steps to keep, where each came from, and what nobody owns. Pure; the registry is the store's."""
