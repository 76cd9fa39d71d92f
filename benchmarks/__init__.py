"""Measurements of Twinset beside its peers: `python -m benchmarks`."""
