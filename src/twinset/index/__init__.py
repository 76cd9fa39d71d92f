"""The index: documents added, asked for and removed, for years; in one file or in a database."""
