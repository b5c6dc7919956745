"""`podwright`, the command line. `podwright --help` loads neither Ray nor a server: commands import what they need."""
