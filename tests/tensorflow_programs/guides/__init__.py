"""Programs with single pages of TensorFlow's guides in mind."""
