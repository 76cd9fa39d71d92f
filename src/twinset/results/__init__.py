"""Open, explain and recut the result folder of dedup."""
