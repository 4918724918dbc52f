"""Encoding of the number of tasks of a step."""

from __future__ import annotations

__all__ = ["ON_DEMAND", "SHARES_SHIFT"]

ON_DEMAND = 0
"""Number of tasks of a step that is divided, when it runs, into one equal share per thread."""
SHARES_SHIFT = 32
"""Bit position of the number of shares in the last argument of a kernel."""
