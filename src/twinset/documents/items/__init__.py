"""What an item is: sets, weighted sets, codes, vectors and pictures, packed for Arrow."""
