"""Records of the discrete Fourier and cosine transforms, computed with SciPy's pocketfft.

Each transform is linear, so its gradient rule is the adjoint transform with the other normalization. `fft` is its own
adjoint with the opposite sign. `rfft` computes only half of the spectrum, so its adjoint `irfft`, which adds the other
half, counts the inner frequencies twice; the rules divide or multiply them by 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import NATIVE_FLOATS, complex_of, info_of
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.batched_params import along_axes, along_axis
from jittape.primitives.broadcast import cast_to, iota
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import equal, logical_or, where
from jittape.primitives.record_parts import filled, require_kinds
from jittape.primitives.signal.small_cosines import small_dct

__all__ = ["ADJOINT_KIND", "DUAL", "dct_op", "fft_op", "irfft_op", "rfft_op"]

DUAL = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The normalization of the adjoint transform: the scale stays on the same side of the pair."""


def _require_elements(op: str, x: Aval, axes: tuple[int, ...]) -> None:
    for axis in axes:
        if x.shape[axis] == 0:
            raise ShapeError(
                f"[{op}] a transform needs at least 1 element, but axis {axis} of shape {x.shape} has none; "
                "give a length, which pads with zeros"
            )


def _require_real(op: str, x: Aval) -> None:
    if x.dtype not in NATIVE_FLOATS:
        raise DTypeError(f"[{op}] needs float32 or float64, got {x.dtype.name}; cast it first")


def _scipy(name: str, x: Any, *args: Any, **options: Any) -> Any:
    import scipy.fft  # on first use: importing it takes longer than importing jittape

    return getattr(scipy.fft, name)(x, *args, **options)


# ---- complex to complex ----------------------------------------------------------------------------------------------


def _fft_abstract_eval(x: Aval, *, axes: tuple[int, ...], inverse: bool, norm: str) -> Aval:
    _require_elements("fft", x, axes)
    return require_kinds("fft", "c", x)


def _fft_impl(x: Any, *, axes: tuple[int, ...], inverse: bool, norm: str) -> Any:
    return _scipy("ifftn" if inverse else "fftn", x, axes=axes, norm=norm) if x.size else x


def _fft_vjp(g: Any, out: Any, x: Any, *, axes: tuple[int, ...], inverse: bool, norm: str) -> Any:
    return fft_op.bind(g, axes=axes, inverse=not inverse, norm=DUAL[norm])


fft_op: Primitive = Primitive(
    "fft", abstract_eval=_fft_abstract_eval, impl=_fft_impl, vjp=(_fft_vjp,), batch=along_axes()
)


# ---- real to complex and back ----------------------------------------------------------------------------------------


def _inner_scaled(x: Any, axis: int, n: int, factor: float) -> Any:
    """Return half of a spectrum of length `n` with all but the first and, if `n` is even, the last times `factor`."""
    k = iota(x.shape, axis, np.dtype("int64"))
    ends = equal(k, 0)
    if n % 2 == 0:
        ends = logical_or(ends, equal(k, n // 2))
    real = info_of(x.dtype).real
    scale = where(ends, 1.0, factor)
    return multiply(x, cast_to(cast_to(scale, real), x.dtype))


def _rfft_abstract_eval(x: Aval, *, axis: int, norm: str) -> Aval:
    _require_real("rfft", x)
    _require_elements("rfft", x, (axis,))
    shape = (*x.shape[:axis], x.shape[axis] // 2 + 1, *x.shape[axis + 1 :])
    return Aval(shape, complex_of(x.dtype))


def _rfft_impl(x: Any, *, axis: int, norm: str) -> Any:
    if not x.size:
        return np.empty(*_rfft_abstract_eval(Aval(x.shape, x.dtype), axis=axis, norm=norm))
    return _scipy("rfft", x, axis=axis, norm=norm)


def _rfft_vjp(g: Any, out: Any, x: Any, *, axis: int, norm: str) -> Any:
    n = x.shape[axis]
    return irfft_op.bind(_inner_scaled(g, axis, n, 0.5), n=n, axis=axis, norm=DUAL[norm])


rfft_op: Primitive = Primitive(
    "rfft", abstract_eval=_rfft_abstract_eval, impl=_rfft_impl, vjp=(_rfft_vjp,), batch=along_axis()
)


def _irfft_abstract_eval(x: Aval, *, n: int, axis: int, norm: str) -> Aval:
    require_kinds("irfft", "c", x)
    _require_elements("irfft", x, (axis,))
    return Aval((*x.shape[:axis], n, *x.shape[axis + 1 :]), info_of(x.dtype).real)


def _irfft_impl(x: Any, *, n: int, axis: int, norm: str) -> Any:
    if not x.size:
        return np.empty(*_irfft_abstract_eval(Aval(x.shape, x.dtype), n=n, axis=axis, norm=norm))
    return _scipy("irfft", x, n, axis=axis, norm=norm)


def _irfft_vjp(g: Any, out: Any, x: Any, *, n: int, axis: int, norm: str) -> Any:
    return _inner_scaled(rfft_op.bind(g, axis=axis, norm=DUAL[norm]), axis, n, 2.0)


irfft_op: Primitive = Primitive(
    "irfft", abstract_eval=_irfft_abstract_eval, impl=_irfft_impl, vjp=(_irfft_vjp,), batch=along_axis()
)
"""The inverse of `rfft` for results of length `n`; the operand has ``n // 2 + 1`` frequencies along `axis`."""


# ---- cosine transforms -----------------------------------------------------------------------------------------------


def _dct_abstract_eval(x: Aval, *, kind: int, axis: int, norm: str) -> Aval:
    _require_real("dct", x)
    _require_elements("dct", x, (axis,))
    return x


def _dct_impl(x: Any, *, kind: int, axis: int, norm: str) -> Any:
    return _scipy("dct", x, kind, axis=axis, norm=norm) if x.size else x


ADJOINT_KIND = {1: 1, 2: 3, 3: 2, 4: 4}


def _ends_scaled(x: Any, kind: int, axis: int, factor: float) -> Any:
    """Return `x` with the first element, and the last too if `kind` is 1, times `factor`."""
    k = iota(x.shape, axis, np.dtype("int64"))
    ends = equal(k, 0)
    if kind == 1:
        ends = logical_or(ends, equal(k, x.shape[axis] - 1))
    return where(ends, multiply(x, filled(x, factor)), x)


def _dct_vjp(g: Any, out: Any, x: Any, *, kind: int, axis: int, norm: str) -> Any:
    """Return the transposed transform; without ``"ortho"`` some kinds count the first or last element once only."""
    if norm != "ortho" and kind in (1, 2):
        g = _ends_scaled(g, kind, axis, 2.0)
    transposed = dct_op.bind(g, kind=ADJOINT_KIND[kind], axis=axis, norm=norm)
    if norm != "ortho" and kind in (1, 3):
        transposed = _ends_scaled(transposed, kind, axis, 0.5)
    return transposed


dct_op: Primitive = Primitive(
    "dct",
    abstract_eval=_dct_abstract_eval,
    impl=_dct_impl,
    vjp=(_dct_vjp,),
    lowering=Decomposition(small_dct),
    batch=along_axis(),
)
"""The cosine transform of a `kind` from 1 to 4, with the scale of SciPy's ``norm="backward"`` or ``"ortho"``."""
