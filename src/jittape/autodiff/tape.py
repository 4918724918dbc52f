"""`GradientTape`, which holds a `TapeInterval` of the trace; `autodiff.reverse` records the gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jittape.autodiff.gradient_diagnostics import diagnosis, explain_missing
from jittape.autodiff.known_gradients import (
    Known,
    known_edge,
    known_gradient,
    known_jacobian,
    remember_jacobian,
)
from jittape.autodiff.reverse import ORDINARY, record_gradient
from jittape.autodiff.tape_arguments import (
    UnconnectedGradients,
    check_batch_shapes,
    check_source,
    check_target,
    check_watched,
    entries_like,
    seed_slots,
    seeds_for,
    wants_zeros,
)
from jittape.autodiff.tape_interval import TapeInterval
from jittape.autodiff.tape_report import TapeReport
from jittape.core.primitive import active, recording_with
from jittape.core.user_calls import stack_level
from jittape.errors import TapeUsageWarning
from jittape.recording.nested import flatten
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import path_to
from jittape.recording.variable import Variable
from jittape.transform.opaque import OpaqueRules

__all__ = ["GradientTape"]

_NONE = UnconnectedGradients.NONE
_USED_UP = (
    "GradientTape.gradient can only be called once on non-persistent tapes. (A non-persistent GradientTape can only be "
    "used to compute one set of gradients (or jacobians)); use jt.GradientTape(persistent=True) for more"
)


class GradientTape(TapeReport):
    """A recorder of operations for automatic differentiation.

    Parameters
    ----------
    persistent : bool, default False
        Whether `gradient` may be called more than once.
    watch_accessed_variables : bool, default True
        Whether trainable Variables are watched when they are read.

    Notes
    -----
    Entering an outermost tape is a step boundary, at which pending operations run. A tape belongs to its thread.

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
        self._used_up = False
        self._interval = TapeInterval(watch_accessed_variables)

    # ---- recording ----------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self._interval.entered:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape."
            )
        self._interval.enter()
        self._used_up = False
        return self

    def __exit__(self, typ: Any, value: Any, traceback: Any) -> None:
        if self._interval.entered:
            self._interval.leave()

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Pause recording inside a ``with`` block; its results are constants for this tape.

        Raises
        ------
        RuntimeError
            If the tape has not been entered.
        ValueError
            If the tape has been left.
        """
        if self._interval.trace is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        was_used_up = self._used_up
        try:
            with self._interval.paused():
                yield
        finally:
            if self._used_up and not was_used_up:
                self.__enter__()

    def reset(self) -> None:
        """Drop everything recorded and watched, and continue recording.

        Raises
        ------
        ValueError
            If the tape is not recording.
        """
        self._interval.reset()

    def watch(self, tensor: Any) -> None:
        """Watch `tensor` from now on.

        Parameters
        ----------
        tensor : Tensor, Variable, or nested structure of them

        Raises
        ------
        ValueError
            If a leaf is neither a Tensor nor a Variable.
        RuntimeError
            If the tape has not been entered.
        """
        if tensor.__class__ is Tensor and self._interval.has_watched(tensor):
            return
        leaves, _ = flatten(tensor)
        check_watched(leaves)
        if self._interval.trace is None:
            raise RuntimeError("watch needs a tape that has been entered: `with jt.GradientTape() as tape:`")
        for leaf in leaves:
            self._interval.watch(leaf)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables watched so far, in order of creation, also after `gradient`."""
        return self._interval.watched_variables()

    @property
    def nbytes(self) -> int:
        """Size, in bytes, of the recorded inputs, which the tape keeps alive, and of computed values in use."""
        trace = self._interval.trace
        return 0 if trace is None else trace.nbytes()

    # ---- gradients ----------------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the gradient of `target` with respect to `sources`, as pending tensors.

        Parameters
        ----------
        target : Tensor or nested structure of them
            Value to differentiate; several elements and targets are summed.
        sources : Tensor, Variable or nested structure of them
        output_gradients : tensor-like or structure like `target`, optional
            Cotangents of the targets; ones by default.
        unconnected_gradients : UnconnectedGradients or str
            Result for a source that `target` does not depend on: ``None`` or zeros.

        Returns
        -------
        Tensor or None, in the structure of `sources`
            Gradients of the sources' shapes and dtypes. An `UnconnectedGradientWarning` explains each ``None``.

        Raises
        ------
        RuntimeError
            On the second call of a tape that is not persistent.
        NoGradientError
            If an op with unknown derivative is on one of several paths from a source to the target.
        """
        if output_gradients is None and unconnected_gradients is _NONE:
            known = known_gradient(self._interval, target, sources)
            if known is not None:
                if not self._persistent:
                    self._use_up()
                return known
        trace = self._usable_trace()
        zero = unconnected_gradients is not _NONE and wants_zeros(unconnected_gradients)
        targets, _ = flatten(target, check_target)
        leaves, rebuild = flatten(sources, check_source)
        self._warn_if_recording()
        with recording_with(trace):
            results = self._cotangents(trace, targets, leaves, entries_like(target, output_gradients), zero)
        self._finish(trace)
        if zero:
            from jittape.autodiff.tape_jacobians import zeros_for_missing

            results = zeros_for_missing(results, leaves)
        return rebuild(results)

    def _cotangents(
        self, trace: Trace, targets: list[Any], leaves: list[Any], output_gradients: Any, zero: bool
    ) -> list[Any]:
        """Return one cotangent for each source; warn about None unless the caller replaces it by zeros."""
        seeds = None if output_gradients is None else seeds_for(targets, output_gradients)
        query = self._interval.query(trace, targets, leaves)
        before = trace.node
        slots = seed_slots(trace, query, targets, seeds)
        opaque_rules = OpaqueRules(zeros=True) if zero else ORDINARY
        results = record_gradient(trace, query.targets, query.sources, slots, query.view, opaque_rules)
        if not zero:
            explain_missing(results, query, before, trace.node)
        return results

    def _warn_if_recording(self) -> None:
        if self._interval.recording and not self._persistent:
            warnings.warn(
                "gradient was called inside the `with` block of a non-persistent tape, which ends its recording; "
                "call it after the block",
                TapeUsageWarning,
                stacklevel=stack_level(),
            )
            self._interval.leave()

    def _usable_trace(self) -> Trace:
        if self._interval.trace is None:
            raise RuntimeError(
                _USED_UP
                if self._used_up
                else "the tape has recorded nothing: enter it with `with` before `gradient`"
            )
        recorder = active.recorder
        if recorder is not self._interval.trace:
            self._interval.follow(recorder)
        return self._interval.trace

    def _finish(self, trace: Trace) -> None:
        """Compute the results if the trace is not current any more, and release a tape that is not persistent."""
        if trace is not active.recorder:
            trace.flush()
        if not self._persistent:
            self._use_up()

    def _use_up(self) -> None:
        if self._interval.entered:
            self._interval.leave()
        self._used_up = True
        self._interval.release()

    def explain(self, target: Any, source: Any) -> str:
        """Explain why the gradient of `target` with respect to `source` is what it is.

        The method may be called before and after `gradient`. After the only gradient of a tape that is not persistent,
        it works until `target` or `source` is used in another step.

        Parameters
        ----------
        target : Tensor
        source : Tensor or Variable

        Returns
        -------
        str
            A sentence with source lines: the number of ops that connect the two or the reason for none, and the lines
            where values that depend on the source left the tape as arrays or numbers.

        Examples
        --------
        >>> x = jt.Variable(3.0)
        >>> with jt.GradientTape() as tape:
        ...     y = x * x
        >>> print(tape.gradient(y, x).numpy())
        6.0
        >>> tape.explain(y, x)
        "the target depends on variable 'Variable:0' through 1 recorded op; jt.check_gradient(f, x) compares ..."
        """
        check_target(target)
        check_source(source)
        if not self._used_up:
            trace = self._usable_trace()
            return diagnosis(path_to(trace.node), self._interval.query(trace, [target], [source]), 0)
        past = self._interval.past_query(target, source)
        if past is None:
            return (
                "the target or the source has become part of a later step: ask before it is used again, or make the "
                "tape with jt.GradientTape(persistent=True)"
            )
        return diagnosis(path_to(past[0]), past[1], 0)

    # ---- Jacobians ----------------------------------------------------------------------------------

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivatives of all elements of `target` with respect to all elements of `sources`.

        Parameters
        ----------
        target : Tensor
        sources : Tensor, Variable or nested structure of them
        unconnected_gradients : UnconnectedGradients or str
        parallel_iterations, experimental_use_pfor
            Accepted for compatibility with TensorFlow and ignored.

        Returns
        -------
        Tensor or None, in the structure of `sources`
            Jacobians of shape ``target.shape + source.shape``.

        Notes
        -----
        One pass runs on a stack of unit vectors: in forward mode if all sources together have fewer elements than the
        target, else in reverse mode.
        """
        edge = None
        if unconnected_gradients is _NONE:
            known = known_jacobian(self._interval, target, sources)
            if known is not None:
                if not self._persistent:
                    self._use_up()
                return known
            edge = known_edge(self._interval, target, sources)
        leaves, rebuild = flatten(sources, check_source)
        return rebuild(self._jacobians(target, leaves, unconnected_gradients, edge=edge))

    def _jacobians(
        self,
        target: Any,
        leaves: list[Any],
        unconnected_gradients: UnconnectedGradients | str,
        forward: bool | None = None,
        edge: Known | None = None,
    ) -> list[Any]:
        """Return one Jacobian for each source; `forward` selects the mode, None the one with fewer passes.

        The trie remembers the Jacobians of an `edge`.
        """
        from jittape.autodiff.tape_jacobians import jacobians_of, zeros_for_missing

        trace = self._usable_trace()
        zero = wants_zeros(unconnected_gradients)
        check_target(target)
        self._warn_if_recording()
        with recording_with(trace):
            query = self._interval.query(trace, [target], leaves)
            before = trace.node
            results = jacobians_of(trace, target, query, forward, zero)
            remember_jacobian(trace, before, edge, results)
        if not zero:
            explain_missing(results, query, before, trace.node)
        self._finish(trace)
        if zero:
            results = zeros_for_missing(results, leaves, target.aval.shape)
        return results

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the Jacobian of each row of `target` with respect to the same row of `source`.

        Parameters
        ----------
        target : Tensor of shape ``(b, y...)``
            Value whose row `i` depends only on row `i` of `source`.
        source : Tensor or Variable of shape ``(b, x...)``
        unconnected_gradients : UnconnectedGradients or str
            Accepted; the result for an unconnected source is always zeros.
        parallel_iterations, experimental_use_pfor
            Accepted for compatibility with TensorFlow and ignored.

        Returns
        -------
        Tensor of shape ``(b, y..., x...)``

        Raises
        ------
        ValueError
            If the numbers of rows differ or a value has no second dimension.
        """
        from jittape.autodiff.tape_jacobians import batch_jacobian_of, zeros_of

        trace = self._usable_trace()
        wants_zeros(unconnected_gradients)
        check_target(target)
        check_source(source)
        check_batch_shapes(target, source)
        self._warn_if_recording()
        with recording_with(trace):
            query = self._interval.query(trace, [target], [source])
            result = batch_jacobian_of(trace, target, query)
        self._finish(trace)
        return zeros_of((*target.shape, *source.shape[1:]), source.dtype) if result is None else result

    def __reduce__(self) -> Any:
        raise TypeError(
            "a GradientTape cannot be pickled or copied, as it belongs to a running thread; keep the Variables or the "
            "gradients"
        )
