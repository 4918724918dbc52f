"""Program transformations: reverse-mode differentiation and batching."""
