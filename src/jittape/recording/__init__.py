"""Recording: tensors, Variables and tapes over a trace that walks the trie of all op lists seen before."""
