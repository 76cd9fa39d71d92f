"""Kinds of documents that are read from several columns: records and weighted sets."""
