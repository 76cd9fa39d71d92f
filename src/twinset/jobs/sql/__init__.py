"""SQL functions of Twinset in DuckDB."""
