"""Functions of ``scipy.signal`` that record if an argument is followed by a derivative."""

from jittape.autograd.scipy.scipy_wrapper import namespace as _namespace

__getattr__ = _namespace(__name__, "signal", dict)
