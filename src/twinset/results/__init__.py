"""A result folder of dedup: opened again, explained, and cut at another threshold."""
