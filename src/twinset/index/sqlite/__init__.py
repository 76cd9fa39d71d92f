"""The back end of an index in a SQLite file."""
