"""How a step says into how many tasks it is divided."""

from __future__ import annotations

__all__ = ["ON_DEMAND", "SHARES_SHIFT"]

ON_DEMAND = 0
"""In the place of a number of tasks: as many equal shares as there may be threads."""
SHARES_SHIFT = 32
"""Where the number of shares stands in a kernel's last argument."""
