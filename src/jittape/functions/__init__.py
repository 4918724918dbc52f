"""`jt.function`: functions that are traced once and run as compiled code."""

from jittape.functions.bound import ConcreteFunction as ConcreteFunction
from jittape.functions.decorator import function as function
from jittape.functions.function import Function as Function
from jittape.functions.host import numpy_function as numpy_function
from jittape.functions.host import py_function as py_function
from jittape.functions.printing import print as print
from jittape.functions.report import Signature as Signature
from jittape.functions.signature import TensorSpec as TensorSpec
