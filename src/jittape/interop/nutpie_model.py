"""`jt.nutpie`: a log density as a model of the sampler nutpie, over nutpie's C callbacks."""

from __future__ import annotations

import ctypes
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.user_calls import as_function
from jittape.functions.signature import TensorSpec
from jittape.interop.optional_library import imported
from jittape.numba_bridge.c_density import CDensity
from jittape.numba_bridge.native_function import NativeFunction
from jittape.numba_bridge.njit import njit_value_and_grad
from jittape.numba_bridge.traced_function import trace, with_gradient
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.operators import Operators

__all__ = ["NutpieParts", "nutpie", "nutpie_parts"]

_DENSITY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)
"""Type of nutpie's callback: count, point, gradient, value, data."""

_TRIES = 100
"""Maximum number of random points at which the log density is tried before chains start."""


def nutpie(
    logp: Callable[..., Any],
    shapes: Mapping[str, Sequence[int]],
    *,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Return a model that ``nutpie.sample`` draws from.

    The sampler calls compiled code for the log density and its gradient, without Python and from several threads.

    Parameters
    ----------
    logp : callable
        Function of the parameters, passed by name as tensors of float64, that returns the log density, a scalar. It is
        traced once; values from outside become constants. Parameters are unconstrained: transform them inside, and add
        the logarithm of the derivative of the transformation.
    shapes : mapping of str to tuple of int
        Name and shape of each parameter.
    coords : mapping, optional
        Coordinates of named dimensions, for the result. By default they are counted.
    dims : mapping of str to tuple of str, optional
        Names of the dimensions of parameters.

    Returns
    -------
    nutpie.CompiledModel
        Model for ``nutpie.sample(model, ...)``. An evaluation that is nan, infinite or fails ends the trajectory, as a
        divergence. Sampling raises ValueError if the density and its gradient are finite, and the gradient not zero, at
        none of 100 random points.

    Raises
    ------
    ImportError
        If nutpie is not installed.
    TypeError
        If `logp` needs Python at each call, or does not return a real scalar, or a shape is no tuple of ints.
    ValueError
        If `dims` or `coords` do not fit the shapes.
    """
    library = imported("nutpie", "nutpie")
    return _model_class(library)(*nutpie_parts(logp, shapes, coords, dims))


def nutpie_parts(
    logp: Callable[..., Any],
    shapes: Mapping[str, Sequence[int]],
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
) -> tuple[dict[str, tuple[str, ...]], NutpieParts]:
    """Return the names of the dimensions of each parameter, and the compiled density with its layout."""
    as_function("logp", logp)
    shapes = _checked_shapes(shapes)
    own_dims, lengths, own_coords = _dimensions(shapes, dims or {}, coords or {})
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    count = sum(sizes.values())
    if not count:
        raise ValueError("[nutpie] shapes has no parameters: give the name and shape of at least one")
    _check_names(logp, shapes)

    def of_vector(x: Any) -> Any:
        parts, start = {}, 0
        for name, shape in shapes.items():
            parts[name] = reshape(x[start : start + sizes[name]], shape)
            start += sizes[name]
        found = logp(**parts)
        if not isinstance(found, Operators) or found.aval.dtype.kind != "f" or found.aval.shape:
            got = found.aval if isinstance(found, Operators) else type(found).__name__
            raise TypeError(
                f"[nutpie] logp must return a real scalar, it returned {got}; its dtype must be a float"
            )
        return found

    of_vector.__name__ = of_vector.__qualname__ = getattr(logp, "__name__", "logp")  # for errors
    callbacks = _callbacks(of_vector, count)
    recipe = logp, shapes, coords, dims
    return own_dims, NutpieParts(callbacks, count, shapes, own_coords, lengths, recipe)


def _remade(logp: Any, shapes: Any, coords: Any, dims: Any) -> Any:
    """Return the model again, in the process that unpickles it: compiled code has an address in one process only."""
    return nutpie(logp, shapes, coords=coords, dims=dims)


def _checked_shapes(given: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters as tuples of ints."""
    found = {}
    try:
        for name, shape in given.items():
            found[str(name)] = tuple([operator.index(extent) for extent in shape])
    except (AttributeError, TypeError):
        raise TypeError(
            "[nutpie] shapes must map names to tuples of ints, such as {'mu': (), 'z': (8,)}, got "
            + repr(given)
        ) from None
    for name, shape in found.items():
        if min(shape, default=0) < 0:
            raise ValueError(f"[nutpie] the extents of {name} must not be negative, got {shape}")
    return found


def _check_names(logp: Callable[..., Any], shapes: Mapping[str, Any]) -> None:
    """Raise `TypeError` if `logp` does not take the parameters by their names."""
    try:
        parameters = inspect.signature(logp)
    except (TypeError, ValueError):  # a function in C without a signature
        return
    try:
        parameters.bind(**shapes)
    except TypeError as error:
        raise TypeError(
            f"[nutpie] shapes has the parameters {', '.join(shapes)}, but logp takes "
            f"{', '.join(parameters.parameters) or 'none'}: {error}"
        ) from None


def _dimensions(
    shapes: Mapping[str, tuple[int, ...]], dims: Mapping[str, Sequence[str]], coords: Mapping[str, Any]
) -> tuple[dict[str, tuple[str, ...]], dict[str, int], dict[str, Any]]:
    """Return the names of the dimensions of each parameter, and the lengths and coordinates of dimensions."""
    unknown = [name for name in dims if name not in shapes]
    if unknown:
        raise ValueError(f"[nutpie] dims names {unknown[0]!r}, but the parameters are {', '.join(shapes)}")
    named: dict[str, tuple[str, ...]] = {}
    lengths: dict[str, int] = {}
    for name, shape in shapes.items():
        named[name] = tuple(dims.get(name, [f"{name}_dim_{i}" for i in range(len(shape))]))
        if len(named[name]) != len(shape):
            raise ValueError(f"[nutpie] dims of {name} must have {len(shape)} names, got {named[name]}")
        for dim, length in zip(named[name], shape, strict=True):
            if lengths.setdefault(dim, length) != length:
                raise ValueError(f"[nutpie] the dimension {dim!r} has {lengths[dim]} and {length} elements")
    found = {dim: coords.get(dim, np.arange(length)) for dim, length in lengths.items()}
    for dim, length in lengths.items():
        if len(found[dim]) != length:
            raise ValueError(f"[nutpie] coords[{dim!r}] has {len(found[dim])} entries for {length} elements")
    return named, lengths, found


class NutpieParts:
    """The callbacks and the layout of a model; `recipe` has the arguments of `nutpie`."""

    def __init__(
        self,
        callbacks: _Callbacks,
        count: int,
        shapes: Mapping[str, Any],
        coords: Any,
        lengths: Any,
        recipe: tuple[Any, ...],
    ) -> None:
        self.callbacks, self.recipe = callbacks, recipe
        self.count, self.shapes, self.coords, self.lengths = count, shapes, coords, lengths

    def start(self, seed: Any) -> np.ndarray[Any, Any]:
        """Return a random point at which a chain starts: the first of several that nutpie accepts.

        The log density and its gradient must be finite there, and the gradient not zero.
        """
        return self._tried(seed)[0]

    def check_starts(self) -> None:
        """Raise if chains can start nowhere; nutpie would only say that all points failed."""
        point, reason = self._tried(0)
        if reason:
            raise ValueError(
                f"[nutpie] chains cannot start at any of {_TRIES} random points between -2 and 2: at "
                f"{np.array2string(point, precision=3, threshold=8)} {reason}. Parameters are unconstrained: transform "
                "them inside logp"
            )

    def sampler(
        self,
        core: Any,
        dims: Mapping[str, tuple[str, ...]],
        settings: Any,
        cores: int,
        progress_type: Any,
        store: Any,
    ) -> Any:
        """Return a running sampler of nutpie's compiled `core`."""
        self.check_starts()
        names, shapes = list(self.shapes), [tuple(shape) for shape in self.shapes.values()]
        variables = core.PyVariable.new_variables(names, ["float64"] * len(names), shapes, self.lengths, dims)
        model = core.PyMcModel(
            core.LogpFunc(self.callbacks.density, 0, self),
            core.ExpandFunc(self.count, self.count, self.callbacks.expand, 0, self),
            variables,
            self.count,
            self.lengths,
            self.coords,
            self.start,
            None,
        )
        return core.PySampler.from_pymc(settings, cores, model, progress_type, store)

    def _tried(self, seed: Any) -> tuple[np.ndarray[Any, Any], str]:
        """Return a random point, and why it cannot be used; an empty text if it can."""
        rng, gradient, value = np.random.default_rng(seed), np.empty(self.count), np.zeros(1)
        call = _DENSITY(self.callbacks.density)
        for _ in range(_TRIES):
            x = rng.uniform(-2.0, 2.0, self.count)
            status = call(self.count, *[a.ctypes.data for a in (x, gradient, value)], None)
            if status == 0 and np.isfinite(gradient).all() and gradient.any():
                return x, ""
        if status:
            return x, "an operation failed" if status == 1 else f"the log density is {value[0]}"
        return x, f"the gradient of the log density is {'not finite' if gradient.any() else 'zero'}"


class _Callbacks(NamedTuple):
    """Addresses of C functions: of the log density, and of the values to store, which are those of all parameters."""

    density: int
    expand: int
    owner: Any
    """Keeps the code."""


def _callbacks(of_vector: Callable[..., Any], count: int) -> _Callbacks:
    spec, name = TensorSpec([count], float64), of_vector.__name__
    native = NativeFunction(trace(with_gradient(of_vector, name, 0), name, ["x"], [spec]), _not_called)
    if CDensity.supports(native):
        code = CDensity(native)
        return _Callbacks(code.address, code.expand_address, code)
    return _numba_callbacks(njit_value_and_grad(of_vector, spec), count)


def _not_called(*unused: Any) -> None:
    raise TypeError("nutpie calls the compiled code")


def _numba_callbacks(gradient: Any, count: int) -> _Callbacks:
    """Return the callbacks of a density with operations that Numba compiles or that run in Python."""
    import numba

    def density(n: Any, x: Any, out: Any, value: Any, data: Any) -> Any:
        try:
            found = gradient(numba.carray(x, (count,)), out=numba.carray(out, (count,)))[0]
        except Exception:
            return 1
        value[0] = found
        return 0 if math.isfinite(found) else 2

    def expand(n: Any, m: Any, x: Any, out: Any, data: Any) -> Any:
        for i in range(count):
            out[i] = x[i]
        return 0

    pointer = "CPointer(float64)"
    both = (
        numba.cfunc(f"int64(uint64, {pointer}, {pointer}, {pointer}, voidptr)")(density),
        numba.cfunc(f"int64(uint64, uint64, {pointer}, {pointer}, voidptr)")(expand),
    )
    return _Callbacks(both[0].address, both[1].address, both)


def _model_class(library: Any) -> Any:
    """Return the class of nutpie's models over callbacks; it exists once nutpie is imported."""
    from dataclasses import dataclass

    from nutpie import _lib

    base = library.sample.__globals__["CompiledModel"]

    @dataclass(frozen=True)
    class TapeModel(base):  # type: ignore[misc, valid-type]
        own: NutpieParts

        def __repr__(self) -> str:
            name = getattr(self.own.recipe[0], "__name__", "logp")
            return f"<nutpie model of {name}({', '.join(f'{n}: {s}' for n, s in self.shapes.items())})>"

        def __reduce__(self) -> Any:
            return _remade, self.own.recipe

        @property
        def n_dim(self) -> int:
            return self.own.count

        @property
        def shapes(self) -> dict[str, tuple[int, ...]]:
            return {name: tuple(shape) for name, shape in self.own.shapes.items()}

        @property
        def coords(self) -> Any:
            return self.own.coords

        def _make_sampler(
            self, settings: Any, init_mean: Any, cores: int, progress_type: Any, store: Any
        ) -> Any:
            return self.own.sampler(_lib, self.dims, settings, cores, progress_type, store)

    return TapeModel
