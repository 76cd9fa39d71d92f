"""Codes within a Hamming distance: block join, query, and the choice of blocks."""
