"""Write the tables of a result."""
