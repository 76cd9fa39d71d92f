"""Long tables: many rows for one set, sorted and grouped by id."""
