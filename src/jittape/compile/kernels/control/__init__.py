"""Control flow: drivers of loops and branches."""
