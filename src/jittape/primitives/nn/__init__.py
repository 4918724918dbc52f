"""Activations, losses and other functions of neural networks."""
