"""Memory and execution: buffers, and executables that run a program on them."""
