"""Kinds of items whose candidates and pairs come from one object in memory."""
