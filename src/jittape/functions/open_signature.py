"""Open signatures: calls with a `TensorSpec` that leaves extents open, for `get_concrete_function`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jittape.core.program import DYNAMIC_DIM, Aval
from jittape.functions.concrete_function import Concrete
from jittape.functions.general_trace import SAMPLES
from jittape.functions.signature import Call, TensorSpec, keys_of, leaf_names, open_axes
from jittape.functions.trace_report import Signature, Uncompiled, described_leaves
from jittape.recording.nested import flatten

__all__ = ["is_open", "open_keys", "open_result", "open_signature_of", "sample_calls", "takes"]


def is_open(call: Call) -> bool:
    """Return whether a `TensorSpec` among the arguments leaves an extent or the rank open."""
    return any([isinstance(leaf, TensorSpec) and not leaf.shape.is_fully_defined() for leaf in call.leaves])


def sample_calls(call: Call, offset: int = 0) -> Iterator[Call]:
    """Yield calls with numbers for the open extents: first equal numbers for all arguments, then different ones.

    An argument of unknown rank is a scalar in these calls.
    """
    axes = open_axes(call.leaves)
    equal = dict.fromkeys(axes, SAMPLES[offset])
    different = {place: SAMPLES[(offset + i) % len(SAMPLES)] for i, place in enumerate(axes)}
    for extents in (equal, different):
        leaves = list(call.leaves)
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, TensorSpec):
                shape = [extents.get((i, axis), n) for axis, n in enumerate(leaf.shape.dims or ())]
                leaves[i] = TensorSpec(shape, leaf.dtype, leaf.name)
        yield Call(tuple(leaves), call.structure, call.orders)


def open_signature_of(
    function: Any, owner: tuple[Any, ...], call: Call, offset: int = 0
) -> tuple[Concrete | Uncompiled, Signature]:
    """Return the trace of a `Function` for the first sample of an open call that does not fail, and the signature.

    Raises
    ------
    Exception
        The error of the first sample if all fail.
    """
    failed: Exception | None = None
    for sample in sample_calls(call, offset):
        keys = keys_of(function._python, sample, len(owner))
        function._families.open(sample, keys, open_axes(call.leaves))
        try:
            trace = function._trace_for(owner, sample, keys)
        except Exception as error:
            failed = failed or error
            continue
        names = leaf_names(function._python, sample, len(owner))
        arguments = described_leaves(trace, names, open_keys(call, keys))
        recorded = "it needs values" if isinstance(trace, Uncompiled) else ""
        return trace, Signature(arguments, (), "get_concrete_function was called", recorded, not recorded)
    assert failed is not None
    raise failed


def open_keys(call: Call, keys: Sequence[Any]) -> tuple[Any, ...]:
    """Return the keys of a sample call with unknown extents, which print as ``?``."""
    places = set(open_axes(call.leaves))
    return tuple(
        [
            Aval(
                tuple([DYNAMIC_DIM if (i, axis) in places else n for axis, n in enumerate(key.shape)]),
                key.dtype,
            )
            if isinstance(key, Aval)
            else key
            for i, key in enumerate(keys)
        ]
    )


def takes(call: Call, keys: Sequence[Any], given: Sequence[Any]) -> bool:
    """Return whether the keys `given` are those of a call with an open signature, whose sample has `keys`."""
    if len(keys) != len(given):
        return False
    for leaf, key, other in zip(call.leaves, keys, given, strict=True):
        if isinstance(leaf, TensorSpec) and isinstance(key, Aval):
            if not isinstance(other, Aval) or other.dtype != key.dtype or not leaf.takes(other.shape):
                return False
        elif key != other:
            return False
    return True


def open_result(first: Any, second: Any) -> Any:
    """Return the structure of a result with None for each extent that differs between two samples."""
    leaves, rebuild = flatten(first)
    others, _ = flatten(second)
    if len(leaves) != len(others):
        return first
    return rebuild([_merged(a, b) for a, b in zip(leaves, others, strict=True)])


def _merged(spec: Any, other: Any) -> Any:
    if (
        not isinstance(spec, TensorSpec)
        or not isinstance(other, TensorSpec)
        or spec.shape.rank != other.shape.rank
    ):
        return spec
    pairs = zip(spec.shape.as_list(), other.shape.as_list(), strict=True)
    return TensorSpec([a if a == b else None for a, b in pairs], spec.dtype, spec.name)
