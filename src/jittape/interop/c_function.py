"""`jt.cfunc`: a value and its gradient as a C function of pointers, without Python inside."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jittape.core.dtypes import c_type
from jittape.core.program import Aval
from jittape.core.user_calls import as_function
from jittape.functions.signature import TensorSpec
from jittape.numba_bridge.njit import argument_number, check_specs, njit_function, njit_value_and_grad

__all__ = ["CFunction", "cfunc", "listed_specs"]


def cfunc(f: Callable[..., Any], *specs: TensorSpec | Sequence[TensorSpec], argnum: int = 0) -> CFunction:
    """Compile a function and its gradient as a C function, for samplers and solvers that call C.

    Parameters
    ----------
    f : callable
        Function of tensors that returns one float of shape ``()``. It is traced once, as by `njit_value_and_grad`.
    *specs : TensorSpec
        Shape and dtype of each argument. A list of them may take their place.
    argnum : int
        Number of the argument to differentiate with respect to.

    Returns
    -------
    CFunction
        Its ``address`` is that of a function ``int32_t f(const T0 *x0, ..., T *value, T *gradient)``. The arrays are
        C-contiguous and have the shapes of the specs. The function returns 0, or 1 if an operation failed. It takes no
        lock of Python, and several threads may call it at once.

    Raises
    ------
    TypeError
        In the cases of `njit_function`; if an operation runs in Python with NumPy; if a spec is no `TensorSpec`; if
        `argnum` is no int.

    Examples
    --------
    >>> import jittape as jt
    >>> import numpy as np
    >>> function = jt.cfunc(lambda x: jt.reduce_sum(x**2), jt.TensorSpec([3], jt.float64))
    >>> function.prototype
    'int32_t function(const double *x, double *value, double *gradient)'
    >>> x, value, gradient = np.array([1.0, 2.0, 3.0]), np.zeros(1), np.zeros(3)
    >>> function.ctypes(x.ctypes.data, value.ctypes.data, gradient.ctypes.data)
    0
    >>> value, gradient
    (array([14.]), array([2., 4., 6.]))
    """
    given = listed_specs(specs)
    for spec in given:
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"[cfunc] the specs must be jt.TensorSpec, one for each argument, got {spec!r}")
    as_function("f", f)
    check_specs("cfunc", f, len(given))
    return CFunction(f, given, argument_number("cfunc", argnum, len(given)))


def listed_specs(specs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the specs of arguments that are given one by one, or as one list or tuple."""
    return tuple(specs[0]) if len(specs) == 1 and isinstance(specs[0], (list, tuple)) else specs


class CFunction:
    """A value and its gradient as a C function; created by `cfunc`.

    Attributes
    ----------
    address : int
        Address of the function. It is valid as long as this object exists.
    prototype : str
        Declaration of the function in C.
    ctypes : callable
        The function for `ctypes`; it takes addresses as ints.
    """

    def __init__(self, f: Callable[..., Any], specs: tuple[TensorSpec, ...], argnum: int) -> None:
        gradient: Any = njit_value_and_grad(f, *specs, argnums=argnum)
        if gradient.python_ops:
            raise TypeError(
                f"[cfunc] {gradient.name} runs operations in Python: {'; '.join(gradient.python_ops)}. Use "
                "jt.njit_value_and_grad, which takes Python's lock for them, or rewrite them"
            )
        self._f, self._specs, self._argnum = f, specs, argnum
        avals = [spec.aval for spec in specs]
        self._function = _compiled(gradient, avals, avals[argnum])
        self.address: int = self._function.address
        self.prototype = _prototype(gradient.parameters, avals, avals[argnum])
        pointers = [ctypes.c_void_p] * (len(specs) + 2)
        self.ctypes = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers)(self.address)

    @cached_property
    def low_level_callable(self) -> Any:
        """The value, without the gradient, as a ``scipy.LowLevelCallable`` for `scipy.integrate.quad`.

        It takes a number if `f` has one argument of shape ``()``, and an array of numbers if its shape is ``(n,)``.
        """
        import numba
        from scipy import LowLevelCallable

        (aval,) = [spec.aval for spec in self._specs] if len(self._specs) == 1 else (None,)
        if aval is None or aval.dtype != np.float64 or aval.ndim > 1:
            raise TypeError(
                "[low_level_callable] SciPy passes one number or one array of float64: the function must have one "
                f"argument of shape () or (n,), it has {', '.join(str(spec.aval) for spec in self._specs)}"
            )
        value = njit_function(self._f, *self._specs)
        if not aval.shape:
            self._value = numba.cfunc("float64(float64)")(lambda x: value(x))
            return LowLevelCallable(self._value.ctypes)
        n = aval.shape[0]
        convert = "float64(intc, CPointer(float64))"
        self._value = numba.cfunc(convert)(lambda count, x: value(numba.carray(x, (n,))))
        return LowLevelCallable(self._value.ctypes)

    def __reduce__(self) -> Any:
        return CFunction, (
            self._f,
            self._specs,
            self._argnum,
        )  # compiled anew: an address is that of one process

    def __repr__(self) -> str:
        return f"<jt.CFunction {self.prototype}>"


def _c_type(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "c":
        return f"{_c_type(np.dtype(f'f{dtype.itemsize // 2}'))} _Complex"
    return c_type(dtype) or dtype.name


def _prototype(parameters: tuple[str, ...], avals: list[Aval], varied: Aval) -> str:
    kinds = [f"const {_c_type(aval.dtype)} *{name}" for name, aval in zip(parameters, avals, strict=True)]
    result = _c_type(varied.dtype)
    return f"int32_t function({', '.join([*kinds, f'{result} *value', f'{result} *gradient'])})"


def _compiled(gradient: Any, avals: list[Aval], varied: Aval) -> Any:
    """Return Numba's C callback around a compiled value and gradient."""
    import numba

    pointers = [numba.types.CPointer(numba.from_dtype(aval.dtype)) for aval in (*avals, varied, varied)]
    names = [f"x{i}" for i in range(len(avals))]
    given = [f"carray({n}, {a.shape})" if a.shape else f"{n}[0]" for n, a in zip(names, avals, strict=True)]
    call = f"value_and_gradient({', '.join(given)}"
    if varied.shape:
        body = f"value[0] = {call}, out=carray(gradient, {varied.shape}))[0]"
    else:
        body = f"value[0], gradient[0] = {call})"
    text = (
        f"def c_function({', '.join([*names, 'value', 'gradient'])}):\n    try:\n        {body}\n"
        "    except Exception:\n        return 1\n    return 0\n"
    )
    space = {"value_and_gradient": gradient, "carray": numba.carray}
    exec(text, space)
    return numba.cfunc(numba.types.int32(*pointers))(space["c_function"])
