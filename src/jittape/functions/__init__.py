"""`jt.function`: functions that are traced once and run as compiled code."""

from jittape.functions.function import ConcreteFunction as ConcreteFunction
from jittape.functions.function import Function as Function
from jittape.functions.function import Signature as Signature
from jittape.functions.function import function as function
from jittape.functions.signature import TensorSpec as TensorSpec
