"""Machine code that reads and writes Python objects."""
