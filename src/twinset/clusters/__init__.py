"""Pairs to clusters: which document is kept, and which are removed because of it."""
