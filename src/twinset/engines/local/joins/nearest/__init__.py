"""Joins of each item with its nearest ones, in memory."""
