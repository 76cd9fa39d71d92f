"""Sketches of vectors: hyperplanes, cross-polytopes, p-stable projections and learned codes."""
