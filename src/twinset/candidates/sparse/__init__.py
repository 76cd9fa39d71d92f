"""Sparse vectors by inverted lists of their columns: all pairs, and the nearest."""
