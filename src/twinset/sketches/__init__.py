"""Shingles to sketches: a few numbers that stand for a whole set."""
