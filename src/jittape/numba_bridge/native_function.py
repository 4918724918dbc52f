"""`NativeFunction`: a jittape function that Numba's compiled code can call.

The function is traced and scheduled like any program. Its kernels are emitted *into the module of the caller*, as LLVM
IR, so the code that Numba caches on disk is self-contained: it contains no addresses and needs no jittape cache. Only
large constants, the BLAS and steps that run in Python are external symbols. Code loaded from disk first looks up its
function by `fingerprint` (see `find_native`), which defines these symbols.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.forms import Control
from jittape.core.locks import lock
from jittape.core.program import Aval, Body, Op, bodies_of, is_dynamic_dim
from jittape.core.tickets import WeakValues
from jittape.numba_bridge.numba_op import array_call
from jittape.numba_bridge.numba_substitutes import SUBSTITUTES
from jittape.numba_bridge.python_steps import PythonStep, Release
from jittape.numba_bridge.traced_function import Argument, Traced
from jittape.version import __version__

if TYPE_CHECKING:
    from jittape.compile.ir.target_facts import Target
    from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule

__all__ = ["BAKED", "NativeFunction", "Stale", "find_native", "unique"]

BAKED = 1024
"""Maximum size, in bytes, of constants in the code; larger ones are read from their own memory, by symbol."""


class Stale(OSError):
    """Error of code from Numba's cache whose native function does not exist in this process or has changed.

    Numba's cache takes an `OSError` for missing code and recompiles it.
    """


class NativeFunction:
    """A function that Numba's compiled code can call; created by `njit_function` and `njit_value_and_grad`.

    It can be a global, a closure variable or an argument of an ``@njit`` function. Python can call it too.

    Attributes
    ----------
    name : str
        Name of the function.
    parameters : tuple of str
        Names of its arguments.
    fingerprint : str
        Hash of everything that determines its results: functions with equal fingerprints are equal.
    python_ops : tuple of str
        The ops that run in Python, with NumPy: for each of them, a call takes the GIL. Empty for most functions.
    """

    def __init__(self, traced: Traced, dispatcher: Callable[..., Any], target: Target | None = None) -> None:
        from jittape.compile.llvm.blas import host_facts
        from jittape.compile.schedule.schedule import schedule
        from jittape.compile.schedule.steps import NumpyStep

        self.name = traced.name
        self.parameters = traced.parameters
        self.traced = traced
        self.schedule = schedule(traced.program, tile_rows=False, target=target or host_facts)
        self.python_steps: dict[int, PythonStep] = {}
        stacks: list[int] = []
        names: list[str] = []
        for number, step in enumerate(self.schedule.steps):
            if isinstance(step, NumpyStep) and _runs_in_python(self.name, step.op):
                self.python_steps[number] = PythonStep(traced.program, step)
                names.append(f"{step.op.primitive.name}, recorded at {step.op.source or 'an unknown line'}")
                results = zip(step.results, step.result_avals, strict=True)
                stacks += [storage for storage, aval in results if is_dynamic_dim(aval)]
        self.python_ops = tuple(names)
        self.stacks = tuple(stacks)
        self._release = Release(len(stacks))
        self.constants = {
            position: np.ascontiguousarray(leaf)
            for position, leaf in enumerate(traced.leaves)
            if not isinstance(leaf, int)
        }
        self.fingerprint = _fingerprint(self)
        self._dispatcher = dispatcher

    def symbol(self, position: int) -> str:
        """Return the symbol of a constant that is not part of the code."""
        return f"jittape_data_{_content(self.constants[position])}"

    def step_symbol(self, number: int) -> str:
        """Return the symbol of a step that runs in Python."""
        return f"jittape_step_{self.fingerprint}_{number}"

    @property
    def release_symbol(self) -> str:
        """The symbol of the function that releases stacks of unknown length."""
        return f"jittape_release_{self.fingerprint}"

    def provide(self) -> None:
        """Define the external symbols of the code."""
        import llvmlite.binding as llvm

        from jittape.compile.ir.gemm_kernel import Gemm
        from jittape.compile.ir.lapack import Lapack
        from jittape.compile.llvm.symbols import provide_blas
        from jittape.core.buffers import address_of

        for position, constant in self.constants.items():
            if constant.nbytes > BAKED:
                llvm.add_symbol(self.symbol(position), address_of(constant))
        for number, step in self.python_steps.items():
            llvm.add_symbol(self.step_symbol(number), step.address)
        llvm.add_symbol(self.release_symbol, self._release.address)
        if any(isinstance(step.kernel, Gemm | Lapack) for step in _all_steps(self.schedule)):
            provide_blas()

    @property
    def is_lasting(self) -> bool:
        """Whether the fingerprint has the same meaning in another process."""
        return all([_step_text(step)[1] for step in _all_steps(self.schedule)])

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """Call the function from Python, through an ``@njit`` function; this takes at least 1 µs."""
        return self._dispatcher(self, args if out is None else (*args, out))

    def __reduce__(self) -> Any:
        return find_native, (self.name, self.fingerprint)

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}: {_shown(argument)}"
            for name, argument in zip(self.parameters, self.traced.arguments, strict=True)
        )
        return f"<jt.NativeFunction {self.name}({given})>"


def _runs_in_python(name: str, op: Op) -> bool:
    """Return whether an op without a kernel runs in Python, because Numba cannot compile it.

    Raises
    ------
    TypeError
        If it is a user function that Numba compiled for fixed argument types.
    """
    called = array_call(op.primitive)
    if called is not None and not called.dispatcher._can_compile:
        raise TypeError(
            f"{name} cannot be compiled for Numba: {op.primitive.name}, recorded at "
            f"{op.source or 'an unknown line'}, is compiled for fixed argument types; "
            "remove the signature from its njit decorator"
        )
    return called is None and op.primitive not in SUBSTITUTES


def _shown(argument: Argument) -> str:
    return str(argument) if isinstance(argument, Aval) else f"({', '.join(map(_shown, argument))})"


_living: WeakValues[str, NativeFunction] = WeakValues()
_lock = lock()


def find_native(name: str, fingerprint: str) -> NativeFunction:
    """Return the native function of this process with a fingerprint.

    Raises
    ------
    Stale
        If there is none.
    """
    function = _living.get(fingerprint)
    if function is None:
        raise Stale(
            f"the native function {name} does not exist in this process, or has changed: create it with "
            "jt.njit_function or jt.njit_value_and_grad before loading code that uses it"
        )
    return function


def unique(function: NativeFunction) -> NativeFunction:
    """Return `function`, or an equal one that exists already: code may use the addresses of its constants."""
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
    """Yield everything that determines what the code of a function computes."""
    traced, schedule = function.traced, function.schedule
    yield repr(
        (__version__, traced.name, traced.parameters, traced.result, schedule.outputs, schedule.offsets)
    )
    yield repr([str(aval) for aval in (*traced.program.input_avals(), *schedule.results)])
    yield repr([_shown(argument) for argument in traced.arguments])
    yield repr([leaf if isinstance(leaf, int) else _content(leaf) for leaf in traced.leaves])
    for step in _all_steps(schedule):
        text, is_lasting = _step_text(step)
        yield text
        if not is_lasting:
            yield uuid.uuid4().hex


def _step_text(step: KernelStep | NumpyStep) -> tuple[str, bool]:
    """Return a text of a step, and whether it has the same meaning in another process."""
    from jittape.compile.cache.kernel_cache import is_cacheable

    if step.kernel is None:
        text, is_lasting = _text_of_ops(step.ops)
        return repr((text, step.storages, step.results)), is_lasting
    text = repr((step.kernel.text, step.storages, step.sizes, step.tasks))
    return text, is_cacheable(step.kernel)


def _text_of_ops(ops: Sequence[Op]) -> tuple[str, bool]:
    """Return a text of ops with their bodies, and whether it means the same in another process."""
    from jittape.compile.cache.schedule_cache import is_known, is_plain

    lines, lasting = [], True
    for op in ops:
        bodies = bodies_of(op)
        params = tuple([(name, value) for name, value in op.params if not _holds_body(value)])
        lines.append(f"{op.out} = {op.primitive.name} {op.args} {params}")
        known = isinstance(op.primitive.lowering, Control) or is_known(op.primitive)
        lasting &= op.primitive in SUBSTITUTES or (known and all(is_plain(value) for _, value in params))
        for body in bodies:
            text, inner = _text_of_ops(body.program.ops)
            avals = [str(aval) for aval in body.program.input_avals()]
            lines.append(f"{avals}\n{text}\n{body.program.outputs}")
            lasting &= inner
    return "\n".join(lines), lasting


def _holds_body(value: Any) -> bool:
    return isinstance(value, Body) or (isinstance(value, tuple) and any(map(_holds_body, value)))


def _all_steps(schedule: Schedule) -> list[KernelStep | NumpyStep]:
    """Return the steps and the steps of the bodies of loops and branches."""
    inner = [one for step in schedule.steps for body in step.bodies for one in _all_steps(body)]
    return [*schedule.steps, *inner]


def _content(array: np.ndarray[Any, Any]) -> str:
    flat = np.ascontiguousarray(array).reshape(-1)
    digest = hashlib.blake2b(flat.view(np.uint8).data, digest_size=16)
    digest.update(repr((array.dtype.str, array.shape)).encode())
    return digest.hexdigest()
