"""Functions of ``scipy.signal`` that record if an argument is followed by a derivative; autograd's own `convolve`."""

from typing import Any as _Any

from jittape.autograd.scipy.scipy_wrapper import namespace as _namespace

_of_scipy = _namespace(__name__, "signal", dict)


def __getattr__(name: str) -> _Any:
    if name != "convolve":
        return _of_scipy(name)
    from jittape.autograd.scipy.axis_convolution import convolve

    return globals().setdefault(name, convolve)
