"""The kinds of documents in an index: what is stored, and how a query is answered."""
