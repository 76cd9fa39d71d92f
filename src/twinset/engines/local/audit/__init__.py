"""Measure the recall of a run on a sample of its documents."""
