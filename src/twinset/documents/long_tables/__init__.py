"""Long tables: several rows per set, grouped by id."""
