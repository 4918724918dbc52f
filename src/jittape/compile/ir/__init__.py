"""The loop IR: kernels, loop nests and index maps as plain data."""
