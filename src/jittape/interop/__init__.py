"""Entries for other libraries, which are imported only if the user has imported them."""
