"""`ForwardAccumulator`, which holds a `TapeInterval`; `autodiff.forward_mode` records the tangents."""

from __future__ import annotations

import warnings
from typing import Any
from weakref import ref

from jittape.autodiff.forward_mode import kept, record_tangents
from jittape.autodiff.gradient_diagnostics import diagnoses
from jittape.autodiff.tape_arguments import (
    UnconnectedGradients,
    check_target,
    check_watched,
    fitting,
    wants_zeros,
)
from jittape.autodiff.tape_interval import TapeInterval
from jittape.core.primitive import active_recorder
from jittape.core.user_calls import stack_level
from jittape.errors import UnconnectedGradientWarning
from jittape.primitives.shape.creation import zeros_like
from jittape.recording.nested import flatten, flatten_like
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = ["ForwardAccumulator"]


class ForwardAccumulator:
    """A recorder for Jacobian-vector products: forward-mode differentiation along one direction.

    Parameters
    ----------
    primals : Tensor, Variable or nested structure of them
        Values to differentiate with respect to.
    tangents : tensor-like or structure like `primals`
        Direction: a value of the shape and dtype of each primal.

    Raises
    ------
    ValueError
        If a tangent's shape does not fit its primal, if the structures differ, or if a primal is given twice.
    TypeError
        If a tangent's dtype does not fit.

    Notes
    -----
    An accumulator records inside its ``with`` block; `jvp` may be called inside and after the block. Accumulators and
    tapes nest: around a tape, the tangent of a gradient is a Hessian-vector product.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant([1.0, 2.0])
    >>> with jt.autodiff.ForwardAccumulator(primals=x, tangents=[1.0, 0.0]) as acc:
    ...     y = jt.reduce_sum(x * x)
    >>> float(acc.jvp(y))
    2.0
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        leaves, _ = flatten(primals)
        check_watched(leaves)
        if len({id(leaf) for leaf in leaves}) < len(leaves):
            raise ValueError(
                "a primal was given more than once. This may indicate an error. If it was intended, please sum the "
                "corresponding tangents."
            )
        given = flatten_like("tangents", primals, tangents)
        self._primals = leaves
        self._tangents = [
            fitting(f"tangents[{i}]", t, "its primal", leaf)
            for i, (t, leaf) in enumerate(zip(given, leaves, strict=True))
        ]
        self._interval = TapeInterval(accessed=False)
        self._outer: list[ref[Any]] = []

    def __enter__(self) -> ForwardAccumulator:
        if self._interval.entered:
            raise ValueError("Accumulator is already recording.")
        first = self._interval.trace is None
        self._interval.enter()
        trace = self._interval.trace
        assert trace is not None
        self._outer = trace.intervals[:-1]
        if first:
            for leaf in self._primals:
                self._interval.watch(leaf)
        return self

    def __exit__(self, typ: Any, value: Any, traceback: Any) -> None:
        if self._interval.entered:
            self._interval.leave()

    def jvp(
        self, primals: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE
    ) -> Any:
        """Return the tangents of values that were computed while the accumulator recorded.

        Parameters
        ----------
        primals : Tensor, Variable or nested structure of them
            Computed values, or primals of the accumulator, whose tangents are the given ones.
        unconnected_gradients : UnconnectedGradients or str
            Result for a value that does not depend on the primals: ``None`` or zeros.

        Returns
        -------
        Tensor or None, in the structure of `primals`
            Tangents of the primals' shapes and dtypes. An `UnconnectedGradientWarning` explains each ``None``.

        Raises
        ------
        ValueError
            If the accumulator has not been entered.
        """
        zero = wants_zeros(unconnected_gradients)
        targets, rebuild = flatten(primals, check_target)
        trace = self._interval.trace
        if trace is None:
            raise ValueError(
                "Called jvp() without first tracing anything: enter the accumulator with `with`."
            )
        recorder: Any = active_recorder()
        if recorder.traced_in is not None and recorder is not trace:
            recorder.flush()  # the tangent is of ops outside the traced function
        with kept(trace):
            begin = trace.node.n_slots
            results = self._tangents_of(trace, targets, zero)
            self._extend_outer_intervals(begin)
        if trace is not recorder:
            trace.flush()
        if zero:
            results = [zeros_like(x) if r is None else r for r, x in zip(results, targets, strict=True)]
        return rebuild(results)

    def _tangents_of(self, trace: Trace, targets: list[Any], zero: bool) -> list[Tensor | None]:
        known = [bool(trace.slots_of(target)) for target in targets]
        query = self._interval.query(
            trace, [t for t, k in zip(targets, known, strict=True) if k], self._primals
        )
        tangents = tuple([trace.import_tensor(t) for t in self._tangents])
        before = trace.node
        made = iter(record_tangents(trace, query.targets, query.sources, tangents, query.view, zero))
        results = [next(made) if k else None for k in known]
        if not zero:
            for i, result in enumerate(results):
                if result is None:
                    one = self._interval.query(trace, targets[i : i + 1] if known[i] else [], self._primals)
                    text = diagnoses(before, trace.node, one, list(range(len(self._primals))))
                    text = f"the tangent of target {i} is None: {text}"
                    warnings.warn(text, UnconnectedGradientWarning, stacklevel=stack_level())
        return results

    def _extend_outer_intervals(self, begin: int) -> None:
        """Add the ops of the tangents to the intervals of outer tapes and accumulators."""
        for weak in self._outer:
            interval = weak()
            if isinstance(interval, TapeInterval):
                interval.extend(begin)

    def __reduce__(self) -> Any:
        raise TypeError("a ForwardAccumulator cannot be pickled: it belongs to a running thread")
