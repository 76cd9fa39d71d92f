"""Candidates to pairs: exact similarity and containment."""
