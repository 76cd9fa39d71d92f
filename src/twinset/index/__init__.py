"""An index of documents: add, query, update and remove, in one file or in a database."""
