"""The back end of an index in a PostgreSQL database."""
