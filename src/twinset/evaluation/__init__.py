"""How sure a result is: its audit, and how well it agrees with the truth."""
