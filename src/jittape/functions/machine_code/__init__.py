"""Machine code that reads the arguments of a call."""
