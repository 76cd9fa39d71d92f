"""Texts to shingles."""
