"""Matrix products: BLAS calls and loop kernels for small operands."""
