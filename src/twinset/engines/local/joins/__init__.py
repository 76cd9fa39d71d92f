"""Similarity joins: how the items of each kind become candidates and verified pairs."""
