"""Where slices come from: each provider puts Ray nodes with our labels into a cluster and takes them away again."""
