"""The HTTP service of indexes."""
