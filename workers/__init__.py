"""Podwright's workers: do what the control plane decided; one folder per level of the machine."""
