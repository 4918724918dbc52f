"""Forward mode from two reverse passes, and passes for many seeds at once.

A vector-Jacobian product is linear in the cotangent and consists of ops. Its gradient with respect to the cotangent is
the Jacobian-vector product. Two reverse passes therefore give each primitive a forward mode from its gradient rule
(J. Townsend, "A new trick for calculating Jacobian vector products", 2017). This costs nothing at run time: the second
pass does not depend on the cotangent of the first, which is zeros, so dead code removal leaves the ops that a forward
walk would append.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

from jittape.autodiff.custom_gradient import with_traced_rules
from jittape.autodiff.gradient_diagnostics import dependent_slots
from jittape.autodiff.reverse import Slots, record_gradient
from jittape.core.builder import Builder, Symbol, literal
from jittape.core.primitive import any_dtype, recording_with
from jittape.core.program import Aval
from jittape.errors import NoGradientError
from jittape.primitives.broadcast import broadcast
from jittape.recording.tape_exits import described
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import Node, aval_of, path_to
from jittape.recording.trie_insertion import insert_ops
from jittape.recording.user_line import user_line
from jittape.transform.batching import batched
from jittape.transform.differentiate import TapeView
from jittape.transform.opaque import OpaqueRules

__all__ = ["kept", "placeholders", "record_batch", "record_tangents"]


@contextmanager
def kept(trace: Trace) -> Iterator[None]:
    """Let gradient functions record in `trace`, which no limit of what is pending ends inside the context."""
    outer = ref(trace)
    trace.intervals.append(outer)
    try:
        with recording_with(trace):
            yield
    finally:
        trace.intervals.remove(outer)


@contextmanager
def placeholders(trace: Trace, avals: Sequence[Aval]) -> Iterator[list[Tensor]]:
    """Record zeros as placeholders for the seeds of a pass, which is linear in them.

    Raises
    ------
    NoGradientError
        If a user-defined gradient function takes the value of a tensor that depends on a placeholder.
    """
    before = set(trace.exits or ())
    with kept(trace):
        made = list(trace.apply(_zeros, (), (tuple(avals),)))
        yield made
    if trace.exits is not None and trace.exits.keys() - before:
        depends = dependent_slots(path_to(trace.node), [t._slot for t in made])
        for key, exit in trace.exits.items():
            if key not in before and key[0] in depends:
                raise NoGradientError(
                    f"[custom_gradient] the gradient function takes the value of a cotangent with "
                    f"{described(key, exit)}: a Jacobian and forward mode run it once for all cotangents, so write it "
                    "with jittape operations"
                )


@any_dtype
def _zeros(avals: tuple[Aval, ...]) -> tuple[Any, ...]:
    return tuple([broadcast(literal(0, aval.dtype), aval.shape) for aval in avals])


def record_tangents(
    trace: Trace,
    targets: Slots,
    sources: tuple[Slots, ...],
    tangents: tuple[int | None, ...],
    view: TapeView,
    zeros: bool = False,
) -> list[Tensor | None]:
    """Append the ops of the tangents of `targets` to `trace`; return None for a target that depends on no source.

    Parameters
    ----------
    trace : Trace
        The thread's recorder.
    targets : tuple of int
    sources : tuple of tuples of int
        Slots of each primal; a Variable has one for each version that was read.
    tangents : tuple of int or None
        Slot of the tangent of each primal; None means zeros.
    view : TapeView
        Positions and slots that were recorded and watched.
    zeros : bool
        Whether a missing tangent counts as zero.
    """
    if not targets:
        return []
    with placeholders(trace, [aval_of(trace.node, slot) for slot in targets]) as cotangents:
        seeds = tuple([c._slot for c in cotangents])
        begin = trace.node.n_slots
        gradients = record_gradient(trace, targets, sources, seeds, view, OpaqueRules(zeros, jointly=True))
        unknown = trace.node.unknown
    pairs = [
        (g._slot, t) for g, t in zip(gradients, tangents, strict=True) if g is not None and t is not None
    ]
    if not pairs:
        return [None] * len(targets)
    linear = TapeView((begin,), tuple([(begin, slot) for slot in seeds]), False)
    outputs = tuple([slot for slot, _ in pairs])
    given = tuple([t for _, t in pairs])
    varied = tuple([() if i in unknown else (s,) for i, s in enumerate(seeds)])
    return record_gradient(trace, outputs, varied, given, linear, OpaqueRules(zeros=True))


def record_batch(trace: Trace, over: int, outputs: Sequence[int], stack: int) -> list[Tensor]:
    """Append ops that compute `outputs` for each row of a stack of values of the slot `over`.

    Parameters
    ----------
    trace : Trace
        The thread's recorder.
    over : int
    outputs : sequence of int
    stack : int
        Slot of the values, of shape ``(n, *shape of over)``.

    Returns
    -------
    list of Tensor
        Values of each output, of shape ``(n, *shape of the output)``.
    """
    key: tuple[Any, ...] = ("batch", over, tuple(outputs), stack)
    path = with_traced_rules(trace, over, outputs) if trace.callbacks else None
    with trace.deriving():
        node = trace.node.children.get(key)
        if node is None:
            path = path or path_to(trace.node)
            node = Node(trace.node)
            node.source = user_line()
            builder = Builder(trace.node.n_slots, node.source)
            values = batched(builder, path.ops, path.avals, over, Symbol(stack, path.avals[stack]), outputs)
            node.results = tuple([(symbol.slot, symbol.aval) for symbol in values])
            node = insert_ops(trace.node, key, node, builder)
        trace.node = node
    return trace.tensors_at(node)
