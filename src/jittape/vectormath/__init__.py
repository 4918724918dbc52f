"""Branch-free elementary and special functions; one formula serves both LLVM IR and NumPy arrays.

Read `math_namespace` for the functions that a formula may use, then any formula module.
"""

from jittape.vectormath.math_namespace import MathNamespace
from jittape.vectormath.numpy_math import NumPyMath

__all__ = ["MathNamespace", "NumPyMath"]
