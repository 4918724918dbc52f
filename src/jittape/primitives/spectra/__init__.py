"""Eigenvalues, singular values, norms and functions of matrices."""
