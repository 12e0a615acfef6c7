"""WFilter: path by path, with the positions of labels in 64-bit words."""
