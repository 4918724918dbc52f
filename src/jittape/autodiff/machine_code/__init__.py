"""Machine code of tapes on known paths."""
