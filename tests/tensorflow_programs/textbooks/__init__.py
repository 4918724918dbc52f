"""Programs in the manner of textbooks and tutorials."""
