"""Scratch files, atomic files, locks, memory and digests."""
