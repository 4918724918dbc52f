"""Sources of NumPy functions, which are derived like the user's functions."""
