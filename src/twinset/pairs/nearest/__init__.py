"""Measures of an item with its nearest ones, with bounds that rule others out."""
