"""Numbers that stand for extents, and the functions that compute everything from them again."""
