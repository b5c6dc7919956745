"""One process per Ray cluster: the only Ray driver. Fetches orders, converges the slices to them, sends facts back."""
