"""Commands that talk to a control plane, here or elsewhere, over the Python SDK only."""
