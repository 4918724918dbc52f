"""The version of the package, and the time of its import."""

import time

__all__ = ["IMPORTED_AT", "__version__"]

__version__ = "0.1.0"
IMPORTED_AT = time.time()
"""In seconds. A source file that has changed since may differ from the code that runs."""
