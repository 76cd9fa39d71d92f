"""Passages on this machine: find runs of words that documents share, and cut repeated ones."""
