"""Podwright's control plane: decides; touches only SQL, HTTP and its own blobs."""
