"""Sketches to candidates: which pairs of documents are worth comparing."""
