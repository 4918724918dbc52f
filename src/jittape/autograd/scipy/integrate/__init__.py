"""Functions of ``scipy.integrate`` that record if an argument is followed by a derivative."""

from jittape.autograd.scipy.scipy_wrapper import namespace as _namespace

__getattr__ = _namespace(__name__, "integrate", dict)
