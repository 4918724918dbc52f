"""Machine code that records on known paths."""
