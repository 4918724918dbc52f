"""Machine code of each kind of kernel."""
