"""Parquet files, read and written by Arrow."""
