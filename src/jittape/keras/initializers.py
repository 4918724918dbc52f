"""Initial values of weights, under the names of ``tf.keras.initializers``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape import random
from jittape.core.argument_checks import FINITE, NOT_NEGATIVE, POSITIVE, number, numbers, shape_of_weight
from jittape.core.config import config
from jittape.core.dtypes import as_dtype
from jittape.errors import ShapeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.keras.saving.named_objects import deserializer
from jittape.keras.saving.object_configs import identified
from jittape.keras.saving.object_configs import serialize_keras_object as serialize
from jittape.keras.saving.serializable import Serializable
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.convert import constant as tensor_with

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity", "IdentityInitializer",
    "Initializer", "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "OrthogonalInitializer", "RandomNormal",
    "RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "deserialize", "get",
    "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform",
    "ones", "orthogonal", "random_normal", "random_uniform", "serialize", "truncated_normal", "variance_scaling",
    "zeros",
]  # fmt: skip


@with_foreign_names(ATTRIBUTES_LEFT_OUT["keras.initializers.Initializer"])
class Initializer(Serializable):
    """Base class of initializers: ``initializer(shape, dtype)`` returns a tensor.

    Examples
    --------
    >>> class Halves(jt.keras.initializers.Initializer):
    ...     def __call__(self, shape, dtype=None):
    ...         return jt.fill(shape, 0.5)
    >>> jt.keras.layers.Dense(1, kernel_initializer=Halves())(jt.ones([1, 4])).numpy()
    array([[2.]], dtype=float32)
    """

    _namespace = "keras.initializers"

    def __init__(self) -> None:
        """Take no arguments; subclasses may."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Return initial values of a weight."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(shape, dtype)")


def _dtype(dtype: Any) -> np.dtype[Any]:
    return as_dtype(config.default_float if dtype is None else dtype)


class Constant(Initializer):
    """A number, or an array of the shape of the weight.

    Parameters
    ----------
    value : number, or array of the shape of the weight

    Examples
    --------
    >>> jt.keras.initializers.Constant(3.0)([2]).numpy()
    array([3., 3.], dtype=float32)
    """

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Return the value in each element."""
        array = numbers("Constant", "value", self.value, _dtype(dtype))
        extents = shape_of_weight("Constant", shape)
        if array.ndim and array.shape != extents:
            raise ShapeError(f"[Constant] value of shape {array.shape} cannot initialize a weight {extents}")
        return tensor_with(np.array(np.broadcast_to(array, extents)))


class Zeros(Constant):
    """Zeros.

    Examples
    --------
    >>> jt.keras.initializers.Zeros()([2]).numpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__(0.0)


class Ones(Constant):
    """Ones.

    Examples
    --------
    >>> jt.keras.initializers.Ones()([2]).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__(1.0)


class Identity(Initializer):
    """`gain` on the diagonal of a matrix and zeros elsewhere.

    Parameters
    ----------
    gain : float

    Examples
    --------
    >>> jt.keras.initializers.Identity(2.0)([2, 2]).numpy()
    array([[2., 0.],
           [0., 2.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = number("Identity", "gain", gain, FINITE)

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Return the matrix."""
        extents = shape_of_weight(type(self).__name__, shape)
        if len(extents) != 2:
            raise ShapeError(f"[Identity] the weight must be a matrix, got shape {extents}")
        return tensor_with(self.gain * np.eye(*extents, dtype=_dtype(dtype)))


class RandomNormal(Initializer):
    """Normally distributed numbers.

    Parameters
    ----------
    mean, stddev : float
        Mean and standard deviation.
    seed : int, optional
        Seed of the numbers; the same seed gives the same numbers.

    Raises
    ------
    ValueError
        If `mean` or `stddev` is not finite, or `stddev` is negative.

    Examples
    --------
    >>> jt.keras.initializers.RandomNormal(stddev=0.1, seed=0)([3, 2]).shape
    (3, 2)
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean = number(type(self).__name__, "mean", mean, FINITE)
        self.stddev = number(type(self).__name__, "stddev", stddev, NOT_NEGATIVE)
        self.seed = seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Draw the numbers."""
        return random.normal(shape, self.mean, self.stddev, _dtype(dtype), self.seed)


class TruncatedNormal(RandomNormal):
    """Normally distributed numbers within two standard deviations of the mean.

    Parameters
    ----------
    mean, stddev, seed : those of `RandomNormal`

    Examples
    --------
    >>> jt.keras.initializers.TruncatedNormal(stddev=0.1, seed=0)([3, 2]).shape
    (3, 2)
    """

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Draw the numbers."""
        return random.truncated_normal(shape, self.mean, self.stddev, _dtype(dtype), self.seed)


class RandomUniform(Initializer):
    """Uniformly distributed numbers from `minval` to `maxval`.

    Parameters
    ----------
    minval, maxval, seed : bounds, and the seed of `RandomNormal`

    Examples
    --------
    >>> jt.keras.initializers.RandomUniform(0.0, 1.0, seed=0)([3, 2]).shape
    (3, 2)
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval = number("RandomUniform", "minval", minval, FINITE)
        self.maxval = number("RandomUniform", "maxval", maxval, FINITE)
        self.seed = seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Draw the numbers."""
        return random.uniform(shape, self.minval, self.maxval, _dtype(dtype), self.seed)


class VarianceScaling(Initializer):
    """Random numbers whose variance is `scale` divided by the number of inputs or outputs of a unit.

    Parameters
    ----------
    scale : float, default 1.0
    mode : str, default "fan_in"
        Divisor: ``"fan_in"``, ``"fan_out"`` or their mean, ``"fan_avg"``.
    distribution : str, default "truncated_normal"
        Or ``"untruncated_normal"``, ``"uniform"``.
    seed : int, optional

    Raises
    ------
    ValueError
        For other values of an argument.

    Examples
    --------
    >>> jt.random.set_seed(0)
    >>> drawn = jt.keras.initializers.VarianceScaling(2.0)([200, 300])
    >>> abs(float(jt.math.reduce_std(drawn)) - 0.1) < 0.002
    True
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        self.scale = number("VarianceScaling", "scale", scale, POSITIVE)
        distribution = "truncated_normal" if distribution == "normal" else distribution
        for name, given, allowed in (
            ("mode", mode, ("fan_in", "fan_out", "fan_avg")),
            ("distribution", distribution, ("truncated_normal", "untruncated_normal", "uniform")),
        ):
            if given not in allowed:
                raise ValueError(
                    f"[VarianceScaling] {name} must be one of {', '.join(allowed)}, got {given!r}"
                )
        self.mode, self.distribution, self.seed = mode, distribution, seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Draw the numbers."""
        inputs, outputs = _fans(shape_of_weight(type(self).__name__, shape))
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random.uniform(shape, -limit, limit, _dtype(dtype), self.seed)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, math.sqrt(variance), _dtype(dtype), self.seed)
        # The standard deviation of a standard normal that is truncated at two.
        return random.truncated_normal(
            shape, 0.0, math.sqrt(variance) / 0.87962566103423978, _dtype(dtype), self.seed
        )


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """Return the number of inputs and outputs of a unit with weights of `shape`; the last dimension counts units."""
    if len(shape) < 2:
        only = shape[0] if shape else 1
        return only, only
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


SCALED = """`VarianceScaling` with scale {scale:g}, {mode} and a {distribution} distribution ({source}).

Parameters
----------
seed : int, optional
    Seed of the numbers; the same seed gives the same numbers.

Examples
--------
>>> jt.keras.initializers.{name}(seed=0)([3, 2]).shape
(3, 2)
"""


def _scaled(name: str, scale: float, mode: str, distribution: str, source: str) -> type[VarianceScaling]:
    """Return a class of `VarianceScaling` with only the seed to choose."""
    facts = {"name": name, "scale": scale, "mode": mode, "distribution": distribution, "source": source}

    class Scaled(VarianceScaling):
        def __init__(self, seed: int | None = None) -> None:
            super().__init__(scale, mode, distribution, seed)

    Scaled.__name__ = Scaled.__qualname__ = name
    Scaled.__doc__ = SCALED.format(**facts)
    return Scaled


GlorotUniform = _scaled("GlorotUniform", 1.0, "fan_avg", "uniform", "Glorot and Bengio, AISTATS 2010")
GlorotNormal = _scaled("GlorotNormal", 1.0, "fan_avg", "truncated_normal", "Glorot and Bengio, AISTATS 2010")
HeUniform = _scaled("HeUniform", 2.0, "fan_in", "uniform", "He et al., ICCV 2015")
HeNormal = _scaled("HeNormal", 2.0, "fan_in", "truncated_normal", "He et al., ICCV 2015")
LecunUniform = _scaled("LecunUniform", 1.0, "fan_in", "uniform", "LeCun et al., Neural Networks 1998")
LecunNormal = _scaled("LecunNormal", 1.0, "fan_in", "truncated_normal", "LeCun et al., Neural Networks 1998")


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, times `gain` (Saxe et al., ICLR 2014).

    Parameters
    ----------
    gain : float
    seed : that of `RandomNormal`

    Examples
    --------
    >>> q = jt.keras.initializers.Orthogonal(seed=0)([3, 3]).numpy()
    >>> np.allclose(q @ q.T, np.eye(3), atol=1e-6)
    True
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain = number("Orthogonal", "gain", gain, FINITE)
        self.seed = seed

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Any:
        """Draw the matrix; all dimensions but the last count as rows."""
        shape = shape_of_weight(type(self).__name__, shape)
        if len(shape) < 2:
            raise ShapeError(f"[Orthogonal] the weight must have at least 2 dimensions, got shape {shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        size = max(rows, columns), min(rows, columns)
        q, r = np.linalg.qr(random.normal(size, dtype="float64", seed=self.seed).numpy())
        q = q * np.sign(np.diagonal(r))
        matrix = (q.T if rows < columns else q).reshape(shape)
        return cast(multiply(self.gain, tensor_with(np.ascontiguousarray(matrix))), _dtype(dtype))


_CLASSES: dict[str, Callable[[], Initializer]] = {
    "zeros": Zeros,
    "ones": Ones,
    "constant": Constant,
    "identity": Identity,
    "random_normal": RandomNormal,
    "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal,
    "variance_scaling": VarianceScaling,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "he_uniform": HeUniform,
    "he_normal": HeNormal,
    "lecun_uniform": LecunUniform,
    "lecun_normal": LecunNormal,
    "orthogonal": Orthogonal,
}


def get(identifier: Any) -> Any:
    """Return the initializer with this name, such as ``"he_normal"``; a callable is returned as it is.

    Parameters
    ----------
    identifier : str, callable or None
        Name of an initializer, or a function of shape and dtype.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> jt.keras.initializers.get("ones")([2]).numpy()
    array([1., 1.], dtype=float32)
    """
    identifier = identified(identifier)
    name = re.sub("(?<!^)(?=[A-Z])", "_", identifier).lower() if isinstance(identifier, str) else ""
    if name in _CLASSES:  # "GlorotUniform" has the name "glorot_uniform"
        return _CLASSES[name]()
    if isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(
        f"there is no initializer {identifier!r}; there are {', '.join(_CLASSES)}, or give a function"
    )


constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
identity = IdentityInitializer = Identity
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
ones = Ones
orthogonal = OrthogonalInitializer = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros
deserialize = deserializer(get)

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
