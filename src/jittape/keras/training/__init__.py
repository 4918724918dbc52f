"""Steps, epochs and parts of models."""
