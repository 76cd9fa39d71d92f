"""File formats: each reads rows in batches and writes chosen rows back."""
