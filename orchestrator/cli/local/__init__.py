"""This machine's own control plane: starts, watches and ends the server and an emulated cluster as processes."""
