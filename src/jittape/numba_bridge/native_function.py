"""`NativeFunction`: a function of jittape's that Numba's compiled code calls.

Such a function is traced and scheduled as any program is. Its kernels are written *into the module of the caller*, as
LLVM IR, so what Numba compiles and keeps on disk is complete: no address, no look-up, nothing of jittape's own cache.
Only large constants and the BLAS go by symbol, and whoever loads the code from disk finds the function first, by its
`fingerprint` (see `found`), which sees to it that these symbols are there.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.locks import lock
from jittape.core.program import Aval, Op
from jittape.core.tickets import WeakValues
from jittape.numba_bridge.numba_op import array_call
from jittape.numba_bridge.numba_substitutes import SUBSTITUTES
from jittape.numba_bridge.traced_function import Argument, Traced
from jittape.version import __version__

if TYPE_CHECKING:
    from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule

__all__ = ["BAKED", "NativeFunction", "Stale", "found", "unique"]

BAKED = 1024
"""Constants of so many bytes at most are part of the code; the others are read where they lie."""


class Stale(OSError):
    """Code from Numba's cache needs a function that this process has not made, or that has become another one.

    An `OSError`, which to Numba's cache means that the code is not there: it is compiled again.
    """


class NativeFunction:
    """A function that Numba's compiled code can call, as `njit_function` and `njit_value_and_grad` make it.

    It can be a global or a closure variable of an ``@njit`` function, or an argument of one. Python can call it too.

    Attributes
    ----------
    name : str
    parameters : tuple of str
        The names of its arguments.
    fingerprint : str
        Of all that it computes: equal fingerprints, equal functions.
    """

    def __init__(self, traced: Traced, dispatcher: Callable[..., Any]) -> None:
        from jittape.compile.schedule.schedule import schedule
        from jittape.compile.schedule.steps import NumpyStep

        self.name = traced.name
        self.parameters = traced.parameters
        self.traced = traced
        self.schedule = schedule(traced.program, tile_rows=False)
        for step in self.schedule.steps:
            if isinstance(step, NumpyStep):
                _check_native(self.name, step.op)
        self.constants = {
            position: np.ascontiguousarray(leaf)
            for position, leaf in enumerate(traced.leaves)
            if not isinstance(leaf, int)
        }
        self.fingerprint = _fingerprint(self)
        self._dispatcher = dispatcher

    def symbol(self, position: int) -> str:
        """The name under which compiled code reads a constant that is not baked into it."""
        return f"jittape_data_{_content(self.constants[position])}"

    def provide(self) -> None:
        """Make the symbols known that its code needs."""
        import llvmlite.binding as llvm

        from jittape.compile.ir.kernel import Gemm
        from jittape.compile.llvm.blas import blas
        from jittape.core.buffers import address_of

        for position, constant in self.constants.items():
            if constant.nbytes > BAKED:
                llvm.add_symbol(self.symbol(position), address_of(constant))
        if any(isinstance(step.kernel, Gemm) for step in self.schedule.steps):
            blas()

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """Call it from Python: through an ``@njit`` function made for that, 1 µs and more."""
        return self._dispatcher(self, args if out is None else (*args, out))

    def __reduce__(self) -> Any:
        return found, (self.name, self.fingerprint)

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}: {_shown(argument)}"
            for name, argument in zip(self.parameters, self.traced.arguments, strict=True)
        )
        return f"<jt.NativeFunction {self.name}({given})>"


def _check_native(name: str, op: Op) -> None:
    """Refuse an op that Python runs; a function of Numba's is called directly."""
    called = array_call(op.primitive)
    if op.primitive in SUBSTITUTES:
        return
    if called is None:
        why = "has no native form and runs in NumPy"
    elif not called.dispatcher._can_compile:
        why = "is compiled for fixed types of arguments; leave the signature away"
    else:
        return
    raise TypeError(
        f"{name} cannot be compiled for Numba: {op.primitive.name}, recorded at {op.source or 'an unknown line'}, {why}"
    )


def _shown(argument: Argument) -> str:
    return str(argument) if isinstance(argument, Aval) else f"({', '.join(map(_shown, argument))})"


_living: WeakValues[str, NativeFunction] = WeakValues()
_lock = lock()


def found(name: str, fingerprint: str) -> NativeFunction:
    """The function of this process with that fingerprint.

    Raises
    ------
    Stale
        If there is none.
    """
    function = _living.get(fingerprint)
    if function is None:
        raise Stale(
            f"the native function {name} does not exist in this process, or is another one: make it with "
            "jt.njit_function or jt.njit_value_and_grad before the code that uses it is loaded"
        )
    return function


def unique(function: NativeFunction) -> NativeFunction:
    """`function`, or an equal one that there is already: code may hold the addresses of its constants."""
    with _lock:
        known = _living.get(function.fingerprint)
        if known is None:
            _living.set(function.fingerprint, function)
        else:
            function = known
        function.provide()
        return function


def _fingerprint(function: NativeFunction) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in _identity(function):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _identity(function: NativeFunction) -> Iterator[str]:
    """All that decides what its code does."""
    from jittape.compile.cache.kernel_cache import is_lasting

    traced, schedule = function.traced, function.schedule
    yield repr(
        (__version__, traced.name, traced.parameters, traced.result, schedule.outputs, schedule.offsets)
    )
    yield repr([str(aval) for aval in (*traced.program.input_avals(), *schedule.results)])
    yield repr([_shown(argument) for argument in traced.arguments])
    yield repr([leaf if isinstance(leaf, int) else _content(leaf) for leaf in traced.leaves])
    for step in _all_steps(schedule):
        text = step.ops[0].primitive.name if step.kernel is None else step.kernel.text
        yield repr((text, step.storages, () if step.kernel is None else step.sizes, step.tasks))
        if step.kernel is None:
            yield repr(step.op.params)
        lasting = step.op.primitive in SUBSTITUTES if step.kernel is None else is_lasting(step.kernel)
        if not lasting:
            yield uuid.uuid4().hex  # the text may mean something else in another process


def _all_steps(schedule: Schedule) -> list[KernelStep | NumpyStep]:
    """The steps, and those of the bodies of loops and branches."""
    inner = [one for step in schedule.steps for body in step.bodies for one in _all_steps(body)]
    return [*schedule.steps, *inner]


def _content(array: np.ndarray[Any, Any]) -> str:
    flat = np.ascontiguousarray(array).reshape(-1)
    digest = hashlib.blake2b(flat.view(np.uint8).data, digest_size=16)
    digest.update(repr((array.dtype.str, array.shape)).encode())
    return digest.hexdigest()
