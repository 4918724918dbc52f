"""`GradientTape`: which part of the trace a gradient may flow through.

A tape holds no ops. It holds positions in the trace, between which it recorded, and the slots that it watches; the ops
are the trace's. See `jittape.differentiate` for how the two give a gradient.
"""

from __future__ import annotations

import enum
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from jittape.differentiate import Path, TapeView
from jittape.dtypes import is_differentiable
from jittape.errors import TapeUsageWarning, UnconnectedGradientWarning
from jittape.primitive import active_recorder, recording_with, replace_recorder
from jittape.primitives.shape import reshape, stack
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten
from jittape.recording.reasons import Asked, reason
from jittape.recording.reverse import record_gradient
from jittape.recording.tensor import Operators, Tensor, tensor_of
from jittape.recording.trace import Trace, begin_step, current_trace
from jittape.recording.trie import Node, path_to
from jittape.recording.variable import Variable

__all__ = ["GradientTape", "UnconnectedGradients"]

_log = logging.getLogger("jittape")
_NON_FLOAT_LOGS = 5

_USED_UP = (
    "GradientTape.gradient can only be called once on non-persistent tapes. (A non-persistent GradientTape can only be "
    "used to compute one set of gradients (or jacobians)); use jt.GradientTape(persistent=True) for more"
)


class UnconnectedGradients(enum.Enum):
    """What a gradient is where the target does not depend on the source.

    Attributes
    ----------
    NONE
        ``None``, with a warning that says why.
    ZERO
        Zeros of the source's shape.
    """

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records operations for automatic differentiation.

    Parameters
    ----------
    persistent : bool, default False
        Whether `gradient` may be called more than once.
    watch_accessed_variables : bool, default True
        Whether trainable Variables are watched when they are read.

    Notes
    -----
    Entering an outermost tape is a step boundary: what is pending runs then. A tape belongs to its thread.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant(3.0)
    >>> with jt.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> print(tape.gradient(y, x))
    jt.Tensor(6.0, shape=(), dtype=float32)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._accessed = watch_accessed_variables
        self._trace: Trace | None = None
        self._recording = False
        self._used_up = False
        self._segments: list[int] = []
        self._watches: list[tuple[int, int]] = []
        self._watched_variables: list[Variable] = []
        self._past: tuple[Node, dict[int, tuple[Variable, list[int]]], TapeView] | None = None

    # ---- recording -----------------------------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape."
            )
        self._resume() if self._trace is not None else self._begin()
        self._start()
        return self

    def __exit__(self, typ: Any, value: Any, traceback: Any) -> None:
        if self._recording:
            self._stop()

    def _begin(self) -> None:
        """Take hold of the trace of an outer tape, or of a new one."""
        trace = current_trace()
        if not trace.recording:
            trace = begin_step()
        trace.holders += 1
        self._trace = trace
        self._used_up = False

    def _resume(self) -> None:
        """Record again where the tape left off."""
        assert self._trace is not None
        current = current_trace()
        if current is self._trace:
            if not current.recording:
                current.flush()
        elif current.recording:
            raise RuntimeError(
                "a tape that has recorded cannot be entered again inside another tape that began later; "
                "enter it first, or use a new tape"
            )
        else:
            current.flush()
            current_trace().supersede()
            self._trace.superseded = False
            replace_recorder(self._trace)

    def _start(self) -> None:
        assert self._trace is not None
        self._trace.recording.append(self)
        self._segments.append(self._trace.node.n_slots)
        self._recording = True

    def _stop(self) -> None:
        if not self._recording or self._trace is None:
            raise ValueError("Tape is not recording.")
        self._trace.recording.remove(self)
        self._segments.append(self._trace.node.n_slots)
        self._recording = False

    def _let_go(self) -> None:
        """The tape is empty again; the trace is no longer held for it."""
        trace, self._trace = self._trace, None
        if trace is not None:
            self._past = (trace.node, trace.variables, self._view(trace))
            trace.release()
        self._segments, self._watches, self._watched_variables = [], [], []

    def __del__(self) -> None:
        trace = self._trace
        if trace is not None:
            if self in trace.recording:
                trace.recording.remove(self)
            trace.release()

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Pause recording for the time of a ``with`` block; what is computed inside is constant to this tape.

        Raises
        ------
        RuntimeError
            Before the tape was entered.
        ValueError
            After it was left.
        """
        if self._trace is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forget all that was recorded and watched, and go on recording.

        Raises
        ------
        ValueError
            If the tape is not recording.
        """
        if not self._recording or self._trace is None:
            raise ValueError("Tape is not recording.")
        self._segments = [self._trace.node.n_slots]
        self._watches, self._watched_variables = [], []

    def watch(self, tensor: Any) -> None:
        """Follow `tensor` from here on.

        Parameters
        ----------
        tensor : Tensor, Variable, or nested structure of them

        Raises
        ------
        ValueError
            For anything else.
        RuntimeError
            Before the tape was entered.
        """
        leaves, _ = flatten(tensor)
        for leaf in leaves:
            if not isinstance(leaf, Operators):
                remedy = "; make it a tensor first: `x = jt.constant(x)`" if _array_like(leaf) else ""
                raise ValueError(
                    f"Passed in object {leaf!r} of type {type(leaf).__name__!r}, not jt.Tensor or jt.Variable{remedy}"
                )
        if self._trace is None:
            raise RuntimeError("watch needs a tape that has been entered: use it inside `with jt.GradientTape() as tape:`")
        for leaf in leaves:
            self._watch_leaf(self._trace, leaf)

    def _watch_leaf(self, trace: Trace, leaf: Any) -> None:
        if not is_differentiable(leaf.dtype):
            _log_non_float(leaf.dtype)
        if isinstance(leaf, Variable):
            trace.enter_variable(leaf)
            self._watched_variables.append(leaf)
        else:
            slot = trace.enter(leaf)
            self._watches.append((trace.node.n_slots, slot))

    def watched_variables(self) -> tuple[Variable, ...]:
        """The Variables watched so far, in the order in which they were made."""
        if self._trace is not None:
            node, variables, view = self._trace.node, self._trace.variables, self._view(self._trace)
        elif self._past is not None:
            node, variables, view = self._past
        else:
            return ()
        explicit = {slot for _, slot in view.watches}
        used = {slot for op in path_to(node).ops if view.records(op.out) for slot in op.args}
        watched = [
            variable
            for variable, slots in variables.values()
            if any(s in explicit or (view.accessed and variable.trainable and s in used) for s in slots)
        ]
        return tuple(sorted(watched, key=lambda variable: variable._serial))

    @property
    def nbytes(self) -> int:
        """Bytes that the tape keeps alive: inputs of what it recorded, and computed values still referred to."""
        return 0 if self._trace is None else self._trace.nbytes()

    def _view(self, trace: Trace) -> TapeView:
        """What the tape saw, as structure."""
        watches = self._watches
        if self._watched_variables:
            versions = [s for v in self._watched_variables for s in trace.variables[id(v)][1]]
            watches = sorted([*watches, *((slot, slot) for slot in versions)])
        return TapeView(tuple(self._segments), tuple(watches), self._accessed)

    # ---- gradients -----------------------------------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` with respect to `sources`, as pending tensors.

        Parameters
        ----------
        target : Tensor or nested structure of them
            What is differentiated; of several elements and targets, their sum.
        sources : Tensor, Variable or nested structure of them
        output_gradients : tensor-like or structure like `target`, optional
            The cotangents to begin with; ones by default.
        unconnected_gradients : UnconnectedGradients or str
            What is returned where `target` does not depend on a source: ``None`` or zeros.

        Returns
        -------
        Tensor or None, in the structure of `sources`
            Each of its source's shape and dtype. A ``None`` comes with an `UnconnectedGradientWarning` that says why.

        Raises
        ------
        RuntimeError
            On the second call on a tape that is not persistent.
        NoGradientError
            If an op on the way has no gradient.
        """
        trace = self._usable_trace()
        zero = _wants_zeros(unconnected_gradients)
        targets, _ = flatten(target)
        leaves, rebuild = flatten(sources)
        _check_targets(target, targets)
        _check_sources(leaves)
        if self._recording and not self._persistent:
            warnings.warn(
                "gradient was called inside the `with` block of a non-persistent tape, which ends its recording; "
                "call it after the block",
                TapeUsageWarning,
                stacklevel=2,
            )
            self._stop()
        with recording_with(trace):
            seeds = _seeds(targets, output_gradients)
            results = self._results(trace, targets, leaves, seeds, zero)
        self._finish(trace)
        return rebuild(results)

    def _usable_trace(self) -> Trace:
        if self._trace is None:
            raise RuntimeError(
                _USED_UP if self._used_up else "the tape has recorded nothing: enter it with `with` before `gradient`"
            )
        return self._trace

    def _finish(self, trace: Trace) -> None:
        """After a gradient: results on a trace that is not current any more are computed, a used-up tape lets go."""
        if trace is not active_recorder():
            trace.flush()
        if not self._persistent:
            if self._recording:
                self._stop()
            self._used_up = True
            self._let_go()

    def _results(
        self, trace: Trace, targets: list[Any], leaves: list[Any], seeds: list[Tensor | None], zero: bool
    ) -> list[Any]:
        """One cotangent for every source; None or zeros where there is none."""
        slots = [_slots(trace, t)[-1:] for t in targets]
        known = [i for i, s in enumerate(slots) if s]
        asked = Asked(
            tuple([slots[i][0] for i in known]), tuple([_slots(trace, leaf) for leaf in leaves]), tuple(leaves)
        )
        seed_slots = tuple([None if (s := seeds[i]) is None else trace.enter(s) for i in known])
        view = self._view(trace)

        def warn(path: Path, node: Node) -> None:
            if not zero:
                _warn_unconnected(path, view, asked, node)

        results: list[Any] = record_gradient(trace, asked.targets, asked.sources, seed_slots, view, warn)
        if zero:
            results = [_zeros_like(leaf) if r is None else r for r, leaf in zip(results, leaves, strict=True)]
        return results

    def explain(self, target: Any, source: Any) -> str:
        """Why the gradient of `target` with respect to `source` is what it is.

        Parameters
        ----------
        target : Tensor
        source : Tensor or Variable

        Returns
        -------
        str
            A sentence with source lines: how many ops connect the two, or why none do.
        """
        trace = self._usable_trace()
        _check_targets(target, [target])
        _check_sources([source])
        asked = Asked(_slots(trace, target)[-1:], (_slots(trace, source),), (source,))
        return reason(path_to(trace.node), self._view(trace), asked, 0)

    # ---- Jacobians -----------------------------------------------------------------------------------------------------

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """All derivatives of the elements of `target` with respect to the elements of `sources`.

        Parameters
        ----------
        target : Tensor
        sources : Tensor, Variable or nested structure of them
        unconnected_gradients : UnconnectedGradients or str
        parallel_iterations, experimental_use_pfor
            Accepted for TensorFlow's sake and ignored.

        Returns
        -------
        Tensor or None, in the structure of `sources`
            Of shape ``target.shape + source.shape``.
        """
        trace = self._usable_trace()
        zero = _wants_zeros(unconnected_gradients)
        leaves, rebuild = flatten(sources)
        _check_targets(target, [target])
        _check_sources(leaves)
        rows = self._rows(trace, target, leaves, np.eye(target.size, dtype=target.dtype).reshape(-1, *target.shape), zero)
        results = [None if r is None else _stacked(r, (*target.shape, *s.shape)) for r, s in zip(rows, leaves, strict=True)]
        self._finish(trace)
        return rebuild(results)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each row of `target` with respect to the same row of `source`.

        Parameters
        ----------
        target : Tensor of shape ``(b, y...)``
            Row `i` must depend on row `i` of `source` only.
        source : Tensor or Variable of shape ``(b, x...)``
        unconnected_gradients : UnconnectedGradients or str
            Accepted; an unconnected Jacobian is zeros.
        parallel_iterations, experimental_use_pfor
            Accepted for TensorFlow's sake and ignored.

        Returns
        -------
        Tensor of shape ``(b, y..., x...)``

        Raises
        ------
        ValueError
            If the shapes do not fit.
        """
        trace = self._usable_trace()
        _wants_zeros(unconnected_gradients)
        _check_targets(target, [target])
        _check_sources([source])
        for value in (target, source):
            if value.ndim < 2:
                raise ValueError(f"Shape {value.shape} must have rank at least 2")
        if target.shape[0] != source.shape[0]:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
            )
        inner = target.shape[1:]
        eye = np.eye(int(np.prod(inner)), dtype=target.dtype).reshape(-1, 1, *inner)
        (rows,) = self._rows(trace, target, [source], np.broadcast_to(eye, (len(eye), *target.shape)), True)
        self._finish(trace)
        return _batch_stacked(rows, (target.shape[0], *inner, *source.shape[1:]))

    def _rows(self, trace: Trace, target: Any, leaves: list[Any], seeds: Any, zero: bool) -> list[list[Any] | None]:
        """For every source the gradients for all `seeds`, one reverse pass each."""
        with recording_with(trace):
            passes = [self._results(trace, [target], leaves, [convert_to_tensor(np.array(s))], zero) for s in seeds]
        columns = [list(column) for column in zip(*passes, strict=True)] or [[] for _ in leaves]
        return [None if any(entry is None for entry in column) else column for column in columns]

    def __reduce__(self) -> Any:
        raise TypeError("a GradientTape cannot be pickled: it belongs to a running thread; pickle Variables or results")


def _stacked(rows: Sequence[Any], shape: tuple[int, ...]) -> Any:
    from_rows = stack(rows) if rows else tensor_of(np.zeros(shape, np.float32))
    return reshape(from_rows, shape)


def _batch_stacked(rows: Sequence[Any] | None, shape: tuple[int, ...]) -> Any:
    return reshape(stack(rows or [], axis=1), shape)


def _slots(trace: Trace, value: Any) -> tuple[int, ...]:
    """The slots of a tensor or Variable in `trace`; a Variable has one for each version read, a stranger none."""
    if isinstance(value, Variable):
        known = trace.variables.get(id(value))
        return tuple(known[1]) if known is not None else ()
    slot = trace.slot_of(value)
    return () if slot is None else (slot,)


def _check_targets(target: Any, leaves: list[Any]) -> None:
    if target is None:
        raise TypeError(
            "Argument 'target' should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
            "differentiated, but received None."
        )
    for leaf in leaves:
        if not isinstance(leaf, Operators):
            raise TypeError(
                f"the target must be a jt.Tensor that was computed on the tape, got {type(leaf).__name__}; "
                "compute it with jittape operations inside the `with` block"
            )


def _check_sources(leaves: list[Any]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, Operators):
            raise TypeError(
                f"a source must be a jt.Tensor or jt.Variable, got {type(leaf).__name__}; "
                "make it a tensor with `x = jt.constant(x)` and watch it before use"
            )


def _seeds(targets: list[Any], output_gradients: Any) -> list[Tensor | None]:
    """The cotangents to begin with, checked against the targets."""
    if output_gradients is None:
        return [None] * len(targets)
    if len(targets) == 1 and not isinstance(output_gradients, (list, tuple, dict)):
        leaves = [output_gradients]
    else:
        leaves = flatten(output_gradients)[0] if isinstance(output_gradients, dict) else list(output_gradients)
        if len(targets) == 1 and len(leaves) != 1:
            leaves = [output_gradients]
    if len(leaves) != len(targets):
        raise ValueError(f"output_gradients has {len(leaves)} entries for {len(targets)} targets")
    return [_seed(i, target, leaf) for i, (target, leaf) in enumerate(zip(targets, leaves, strict=True))]


def _seed(position: int, target: Any, leaf: Any) -> Tensor | None:
    if leaf is None:
        return None
    seed = convert_to_tensor(leaf, dtype_hint=target.dtype)
    if seed.shape != target.shape:
        raise ValueError(f"output_gradients[{position}] has shape {seed.shape}, its target {target.shape}")
    if seed.dtype != target.dtype:
        raise TypeError(
            f"output_gradients[{position}] has dtype {seed.dtype.name}, its target {target.dtype.name}; cast it"
        )
    return seed


def _wants_zeros(choice: UnconnectedGradients | str) -> bool:
    if not isinstance(choice, UnconnectedGradients):
        try:
            choice = UnconnectedGradients(choice)
        except ValueError:
            raise ValueError(f"Unknown value for unconnected_gradients: {choice!r}") from None
    return choice is UnconnectedGradients.ZERO


def _zeros_like(leaf: Any) -> Tensor:
    return tensor_of(np.zeros(leaf.shape, leaf.dtype))


def _array_like(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float, int, complex))


def _warn_unconnected(path: Path, view: TapeView, asked: Asked, node: Node) -> None:
    reasons = [reason(path, view, asked, i) for i, result in enumerate(node.results or ()) if result is None]
    if reasons:
        warnings.warn("the gradient is None: " + "; ".join(reasons), UnconnectedGradientWarning, stacklevel=7)


_logged = 0


def _log_non_float(dtype: np.dtype[Any]) -> None:
    global _logged
    if _logged < _NON_FLOAT_LOGS:
        _logged += 1
        _log.warning("The dtype of the watched tensor must be floating (e.g. jt.float32), got jt.%s", dtype.name)
