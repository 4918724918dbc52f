"""`jt.function`: functions that are traced once and run as compiled code."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.functions.bound_function import ConcreteFunction as ConcreteFunction
from jittape.functions.decorator import function as function
from jittape.functions.function import Function as Function
from jittape.functions.printing import print as print
from jittape.functions.signature import TensorSpec as TensorSpec
from jittape.functions.trace_report import Signature as Signature
from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.functions.host_ops import numpy_function as numpy_function
    from jittape.functions.host_ops import py_function as py_function

__getattr__ = _lazily(__name__, {"jittape.functions.host_ops": ("numpy_function", "py_function")})
