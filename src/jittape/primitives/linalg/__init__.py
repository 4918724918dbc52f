"""Matrix products, decompositions and norms."""
