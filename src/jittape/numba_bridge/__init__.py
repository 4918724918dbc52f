"""Bridge to Numba: jittape functions and gradients in ``@njit`` code, and ``@njit`` functions as ops."""

from jittape.lazy_names import lazily as _lazily

__all__ = ["NativeFunction", "NumbaOp", "njit_function", "njit_value_and_grad", "numba_op"]

# The gradient of an `@njit` function needs no tensors: 0.2 s of imports.
__getattr__ = _lazily(
    __name__,
    {
        f"{__name__}.native_function": ("NativeFunction",),
        f"{__name__}.njit": ("njit_function", "njit_value_and_grad"),
        f"{__name__}.numba_op": ("NumbaOp", "numba_op"),
    },
)


def __dir__() -> list[str]:
    return __all__
