"""All that is kept: the only SQL of the control plane, and its blobs. `queries` ask, `commands` tell."""
