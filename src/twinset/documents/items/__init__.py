"""Kinds of items other than texts: sets, weighted sets, codes, vectors and pictures, packed for Arrow."""
