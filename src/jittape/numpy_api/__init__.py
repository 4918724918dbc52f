"""NumPy's protocols: NumPy functions and ufuncs on tensors."""
