"""What an index stores for each kind of item, and how it answers a query."""
