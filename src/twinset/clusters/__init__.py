"""Cluster pairs: choose the kept document of each cluster and the removed ones."""
