"""`Generator`: a random number generator whose state is a Variable."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int32, int64, uint64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_array, as_int
from jittape.errors import ShapeError
from jittape.module import Module
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, iota, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.shape.reshaping import transpose
from jittape.random.continuous import draw_normal, draw_truncated_normal, draw_uniform, draw_uniform_full_int
from jittape.random.discrete import draw_binomial
from jittape.random.seeds import derived_seeds, require_algorithm
from jittape.random.source import get_state, state_of_seed
from jittape.recording.symbolic_trace import reserved
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Generator", "get_global_generator", "set_global_generator"]

Shape = Sequence[int] | int


class Generator(Module):
    """A random number generator with a state of its own.

    The state is a Variable, which `save_weights` of a Module that owns the generator writes too. A `jt.function` reads
    and assigns it in machine code, and a loop takes a state for each iteration before it starts.

    Parameters
    ----------
    copy_from : Generator, optional
        Generator whose state is copied.
    state : array-like of shape (3,)
        Integers: the next block, the stream and the key.
    alg : str
        Only Philox is available; for compatibility with TensorFlow.

    Examples
    --------
    >>> import jittape as jt
    >>> generator = jt.random.Generator.from_seed(1)
    >>> a = generator.normal([2])
    >>> generator.reset_from_seed(1)
    >>> bool(jt.reduce_all(a == generator.normal([2])))
    True
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        super().__init__()
        require_algorithm("Generator", alg)
        if (copy_from is None) == (state is None):
            raise ValueError("[random.Generator] give either copy_from or state; or use Generator.from_seed")
        first = _state_array("Generator", state) if copy_from is None else copy_from.state
        shares = isinstance(state, Variable) and state.dtype == np.int64
        self._state = state if shares else Variable(first, trainable=False, name="state")

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """Return a generator for an int of at least 0 and less than 2**128."""
        return cls(state=_signed(state_of_seed(seed)), alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """Return a generator that begins at `state`. It advances an int64 Variable itself, which others may share."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: int, counter: Sequence[int], alg: Any = None) -> Generator:
        """Return a generator with a key and a counter of two integers, the next block and the stream."""
        return cls(state=_key_counter("from_key_counter", key, counter), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Return a generator with a state from the operating system."""
        return cls.from_seed(int.from_bytes(os.urandom(16), "little"), alg)

    # ---- state -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Variable:
        """The state: three int64, the next block, the stream and the key."""
        return self._state

    @property
    def key(self) -> Tensor:
        """The key."""
        key: Tensor = self._state[2]
        return key

    @property
    def algorithm(self) -> int:
        """TensorFlow's number of the algorithm Philox."""
        return 1

    def reset(self, state: Any) -> None:
        """Assign a state."""
        self._state.assign(_state_array("Generator.reset", state))

    def reset_from_seed(self, seed: int) -> None:
        """Assign the state of a new generator with this seed."""
        self._state.assign(_signed(state_of_seed(seed)))

    def reset_from_key_counter(self, key: int, counter: Sequence[int]) -> None:
        """Assign a key and a counter of two integers."""
        self._state.assign(_key_counter("reset_from_key_counter", key, counter))

    def skip(self, delta: int) -> Tensor:
        """Advance the state as drawing `delta` numbers does; return the state before."""
        count = as_int("delta", delta)
        if count < 0:
            raise ValueError(f"[random.Generator.skip] delta must not be negative, got {delta!r}")
        return self._take(count)

    def _take(self, blocks: int) -> Any:
        """Return the state for `blocks` blocks and advance; in a loop, a state for each iteration."""

        def states(lead: tuple[int, ...]) -> Tensor:
            before = self._state.value()
            self._state.assign(apply(_advanced, (before,), (blocks * math.prod(lead),)))
            return apply(_stacked_states, (before,), (blocks, lead)) if lead else before

        return reserved(states)

    def make_seeds(self, count: int = 1) -> Tensor:
        """Return seeds for functions named ``stateless_*``: int64 of shape ``(2, count)``."""
        return transpose(self._seeds("make_seeds", count))

    def split(self, count: int = 1) -> list[Generator]:
        """Return independent new generators."""
        seeds = self._seeds("split", count).numpy()
        return [type(self)(state=np.array([0, stream, key], np.int64)) for key, stream in seeds]

    def _seeds(self, op: str, count: int) -> Tensor:
        number = as_int("count", count)
        if number < 1:
            raise ValueError(f"[random.Generator.{op}] count must be at least 1, got {count!r}")
        return apply(derived_seeds, (self._take(number),), (number, int64))

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def normal(
        self, shape: Shape, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, name: str | None = None
    ) -> Tensor:
        """Draw normally distributed numbers; see `jt.random.normal`.

        Raises
        ------
        ShapeError, DTypeError
            As for `jt.random.normal`.
        """
        return draw_normal("Generator.normal", self._take, shape, mean, stddev, dtype)

    def truncated_normal(
        self, shape: Shape, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, name: str | None = None
    ) -> Tensor:
        """Draw normal numbers within two standard deviations; see `jt.random.truncated_normal`."""
        return draw_truncated_normal("Generator.truncated_normal", self._take, shape, mean, stddev, dtype)

    def uniform(
        self, shape: Shape, minval: Any = 0, maxval: Any = None, dtype: Any = None, name: str | None = None
    ) -> Tensor:
        """Draw uniformly distributed numbers in ``[minval, maxval)``; see `jt.random.uniform`."""
        return draw_uniform("Generator.uniform", self._take, shape, minval, maxval, dtype)

    def uniform_full_int(self, shape: Shape, dtype: Any = uint64, name: str | None = None) -> Tensor:
        """Draw integers among all that `dtype` has."""
        return draw_uniform_full_int("Generator.uniform_full_int", self._take, shape, dtype)

    def binomial(
        self, shape: Shape, counts: Any, probs: Any, dtype: Any = int32, name: str | None = None
    ) -> Tensor:
        """Draw numbers of successes; see `jt.random.binomial`."""
        return draw_binomial("Generator.binomial", self._take, shape, counts, probs, dtype)


# ---- states ----------------------------------------------------------------------------------------------------------


def _advanced(state: Any, blocks: int) -> Any:
    state = as_symbol(state)
    is_block = equal(iota((3,), 0, int64), broadcast(literal(0, int64), (3,)))
    zero, step = (broadcast(literal(n, int64), (3,)) for n in (0, blocks))
    return add(state, where(is_block, step, zero))


def _stacked_states(state: Any, blocks: int, lead: tuple[int, ...]) -> Any:
    """Return a state for each iteration of the loops with `lead` iterations."""
    shape, count = (*lead, 3), math.prod(lead)
    iteration = broadcast(to_shape(iota((count,), 0, int64), (*lead, 1)), shape)
    is_block = equal(iota(shape, len(lead), int64), broadcast(literal(0, int64), shape))
    step = multiply(iteration, broadcast(literal(blocks, int64), shape))
    first = broadcast(cast_to(state, int64), shape)
    return add(first, where(is_block, step, broadcast(literal(0, int64), shape)))


def _signed(state: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    return np.array(state, np.uint64).view(np.int64)


def _state_array(op: str, state: Any) -> np.ndarray[Any, Any]:
    array = as_array("state", state)
    if array.dtype.kind not in "iu":
        raise TypeError(f"[random.{op}] state must be integers, got {array.dtype.name}")
    if array.shape != (3,):
        raise ShapeError(f"[random.{op}] state must have shape (3,), got {array.shape}")
    return array.astype(np.int64)


def _key_counter(op: str, key: Any, counter: Any) -> np.ndarray[Any, Any]:
    first, words = as_array("key", key), as_array("counter", counter)
    if (
        first.shape != ()
        or words.shape != (2,)
        or first.dtype.kind not in "iu"
        or words.dtype.kind not in "iu"
    ):
        raise ValueError(
            f"[random.Generator.{op}] key must be an integer and counter two integers, got {key!r} and {counter!r}"
        )
    return np.array([*words.astype(np.int64), first.astype(np.int64)])


# ---- the global generator --------------------------------------------------------------------------------------------

_global: Generator | None = None


def get_global_generator() -> Generator:
    """Return a generator for code that passes none around; it is created at the first call.

    It is separate from the generator of the functions `normal`, `uniform` and the others, which `set_seed` restarts. At
    the first call, it starts from a state that `set_seed` determines.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.get_global_generator() is jt.random.get_global_generator()
    True
    """
    global _global
    if _global is None:
        block, stream, key = get_state().tolist()
        _global = Generator(state=_signed((block, stream, key ^ _GLOBAL_KEY)))
    return _global


_GLOBAL_KEY = 0x610BA1610BA1


def set_global_generator(generator: Generator) -> None:
    """Make `generator` the result of `get_global_generator`. Traced functions keep the generator that they used.

    Parameters
    ----------
    generator : Generator
        The new global generator.

    Raises
    ------
    TypeError
        If it is no `Generator`.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.set_global_generator(jt.random.Generator.from_seed(3))
    """
    global _global
    if not isinstance(generator, Generator):
        raise TypeError(
            f"[random.set_global_generator] generator must be a jt.random.Generator, got {generator!r}"
        )
    _global = generator
