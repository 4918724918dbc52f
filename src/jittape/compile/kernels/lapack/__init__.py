"""Factorizations, decompositions and solves: calls of LAPACK, and unrolled loops for stacks of small matrices."""
