"""Sketches: a few numbers that represent a whole set."""
