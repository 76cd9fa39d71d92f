"""Evaluate results: audit, and agreement with the truth."""
