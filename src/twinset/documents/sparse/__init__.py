"""Sparse matrices: SciPy's in memory, and their files."""
