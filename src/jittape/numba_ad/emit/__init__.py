"""Python text of forward pass, backward pass and tangents."""
