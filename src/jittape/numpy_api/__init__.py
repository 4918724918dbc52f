"""NumPy's protocols: what its functions do with a tensor."""
