"""General paths: the op list of a plain step, for arrays of any length."""
