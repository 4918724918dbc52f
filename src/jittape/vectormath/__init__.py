"""Branch-free elementary and special functions over values: one text for LLVM IR and for NumPy arrays.

Look at `namespace.py` for what a formula may use and for the list of functions, then at any formula file.
"""

from jittape.vectormath.math_namespace import MathNamespace
from jittape.vectormath.numpy_math import NumPyMath

__all__ = ["MathNamespace", "NumPyMath"]
