"""The user's source in structured form."""
