"""Gradients, vector-Jacobian and Jacobian-vector products of functions of one varied argument.

A complex gradient follows autograd's convention, the conjugate of `jittape.GradientTape`'s: the gradient of a real
function of ``x + iy`` is ``df/dx - i df/dy``, so that a holomorphic function has its complex derivative.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jittape.autodiff.forward_mode import kept, record_tangents
from jittape.autodiff.known_gradients import known_gradient
from jittape.autodiff.repeated_products import RepeatedProducts, RepeatedTangents
from jittape.autodiff.reverse import record_gradient
from jittape.autodiff.tape import GradientTape
from jittape.autograd.containers import Boxes, as_tensor, holds_boxes, is_box, leaves_of_value, like, mapped
from jittape.autograd.wrap_util import root_of
from jittape.core.primitive import active, recording_with
from jittape.core.user_calls import stack_level
from jittape.primitives.elementwise.complex_numbers import cast, conj
from jittape.primitives.identity import stop_gradient
from jittape.recording.nested import own_handles
from jittape.recording.tape_exits import described
from jittape.recording.tensor import Tensor, tensor_of
from jittape.recording.trace import begin_step
from jittape.transforms.gradients import jvp, vjp
from jittape.transforms.primals import is_recorded
from jittape.transforms.rewind import rewound

__all__ = [
    "gradient_of",
    "jacobian_of",
    "make_jvp_of",
    "make_vjp_of",
    "zeros_of",
]


_ON_PURPOSE = ("numpy()", "item()", "tolist()")
"""Conversions that leave a tape on purpose."""


def _conjugated(tensors: list[Any]) -> list[Any]:
    return [conj(t) if t.aval.dtype.kind == "c" else t for t in tensors]


def zeros_of(leaf: Tensor) -> Tensor:
    """Return zeros of the shape and dtype of a tensor."""
    return tensor_of(np.zeros(leaf.aval.shape, leaf.aval.dtype))


def _independent(leaves: list[Tensor]) -> list[Tensor]:
    warnings.warn("Output seems independent of input.", stacklevel=stack_level())
    return [zeros_of(leaf) for leaf in leaves]


def _tape(fun: Callable[..., Any], persistent: bool = False) -> GradientTape:
    tape = GradientTape(persistent, watch_accessed_variables=False)
    tape._interval.function = root_of(fun)
    return tape


def refuse_exits(tape: GradientTape) -> None:
    """Raise if the function took the value of a varied number by ``float(x)`` or the like, which loses the gradient.

    ``x.numpy()``, ``x.item()`` and `getval` leave the tape on purpose.

    Raises
    ------
    TypeError
        As autograd, whose boxes have no such conversions.
    """
    trace = tape._interval.trace
    if trace is None or not trace.exits:
        return
    exits = [
        (key, found) for key, found in trace.exits.items() if found[0] not in _ON_PURPOSE and key[0] >= 0
    ]
    if not tape._interval.depend_on_watched(trace, {key[0] for key, _ in exits}):
        return
    for (slot, code, at), found in exits:
        if tape._interval.depend_on_watched(trace, {slot}):
            raise TypeError(
                f"{described((slot, code, at), found)} takes the value of a varied number, so its gradient would be "
                "lost: write it with jittape.autograd.numpy, or take autograd.tracer.getval(x) to leave it out"
            )


@contextmanager
def _refusing_exits(fun: Callable[..., Any], boxes: Boxes) -> Iterator[None]:
    """Raise `refuse_exits`' error if the value of a leaf is taken inside the context."""
    tape = _tape(fun)
    with tape:
        for leaf in boxes.leaves:
            tape._interval.watch(leaf)
        yield
        refuse_exits(tape)


def gradient_of(
    fun: Callable[..., Any], x: Any, checked: Callable[[Any], Any], keep: bool
) -> tuple[Boxes, Any, list[Tensor]]:
    """Return the varied argument, what `fun` returned, and the gradient of the sum of its target for each leaf.

    ``checked`` returns the target in what `fun` returned, or raises an error. Without `keep`, None takes the place of
    what `fun` returned: a value that is still referred to would be computed too.
    """
    recorded = is_recorded()
    tape = _tape(fun)
    with tape:
        boxes = Boxes(x, recorded)
        for leaf in boxes.leaves:
            tape._interval.watch(leaf)
        value = fun(boxes.argument)
        target = checked(value)
        refuse_exits(tape)
    gradients = _cotangents(tape, target, boxes.leaves)
    if boxes.is_complex:
        gradients = _conjugated(gradients)
    return boxes, value if keep else None, gradients


def _cotangents(tape: GradientTape, target: Any, leaves: list[Tensor]) -> list[Any]:
    """Return the gradient of the sum of `target` for each leaf, zeros where there is none."""
    if not is_box(target):
        return _independent(leaves)
    known = known_gradient(tape._interval, target, leaves)
    if known is not None:
        tape._use_up()
        return known
    trace = tape._usable_trace()
    with recording_with(trace):
        query = tape._interval.query(trace, [target], leaves)
        ones = (None,) * len(query.targets)
        found = record_gradient(trace, query.targets, query.sources, ones, query.view)
    tape._finish(trace)
    if all(g is None for g in found):
        return _independent(leaves)
    return [zeros_of(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


def jacobian_of(fun: Callable[..., Any], x: Any) -> Any:
    """Return the Jacobian of `fun`, in the structure of `x`."""
    recorded = is_recorded()
    tape = _tape(fun, persistent=True)
    with tape:
        boxes = Boxes(x, recorded)
        for leaf in boxes.leaves:
            tape._interval.watch(leaf)
        value = fun(boxes.argument)
        refuse_exits(tape)
        if holds_boxes(value) and not is_box(value):
            raise TypeError("[jacobian] the function must return an array, got a container: stack it")
        y = as_tensor(value)
        if y.aval.dtype.kind == "c":
            raise ValueError(
                "[jacobian] the function returns complex numbers, for which autograd defines no Jacobian: "
                "differentiate np.real and np.imag of it, or use make_jvp"
            )
    if not is_box(value):
        shapes = [(*y.aval.shape, *leaf.aval.shape) for leaf in boxes.leaves]
        _independent([])
        rows = [tensor_of(np.zeros(s, leaf.aval.dtype)) for s, leaf in zip(shapes, boxes.leaves, strict=True)]
    elif y.aval.shape == ():
        rows = _cotangents(tape, y, boxes.leaves)
    else:
        rows = tape._jacobians(y, boxes.leaves, "zero", False if boxes.is_complex else None)
    del value, y
    return boxes.as_output(boxes.structured(_conjugated(rows) if boxes.is_complex else rows))


class _OfLeaves:
    """A function of the leaves of a container, which returns the leaves of the result and keeps its structure."""

    def __init__(self, fun: Callable[..., Any], boxes: Boxes) -> None:
        self._fun = fun
        self._boxes = boxes
        self.__code__ = root_of(fun)
        self.value: Any = None
        """The last result: only its structure is used."""

    def __call__(self, *leaves: Tensor) -> list[Tensor]:
        self.value = value = self._fun(self._boxes.structured(leaves))
        if value.__class__ is Tensor:
            return [value]
        if not holds_boxes(value):
            warnings.warn("Output seems independent of input.", stacklevel=stack_level())
        return [as_tensor(leaf) for leaf in leaves_of_value(value)]

    def structure(self) -> Any:
        """Return the structure of the result, without its values; None for one array."""
        value, self.value = self.value, None
        return None if value.__class__ is Tensor else mapped(lambda _: None, value)


def make_vjp_of(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return a function that computes vector-Jacobian products of `fun` at `x`, and the value of `fun`."""
    boxes = Boxes(x, is_recorded())
    pullback, outputs, structure = (_host_vjp if boxes.host else _recorded_vjp)(fun, boxes)
    is_array = structure is None
    value = boxes.as_output(outputs[0] if is_array else like(structure, outputs))
    avals = [y.aval for y in outputs]
    is_real = not boxes.is_complex and all([aval.dtype.kind == "f" for aval in avals])

    def vector_jacobian_product(g: Any) -> Any:
        """Return the cotangent of the argument for the cotangent `g` of the value."""
        recorded = is_recorded()
        host = boxes.host and not recorded and not holds_boxes(g)
        parts = [g] if is_array and not isinstance(g, (list, tuple, dict)) else _parts_like(structure, g)
        seeds = [_seed(c, aval) for c, aval in zip(parts, avals, strict=True)]
        if is_real:
            cotangents = boxes.structured(pullback(seeds, recorded))
        else:
            cotangents = boxes.structured(_conjugated(list(pullback(_conjugated(seeds), recorded))))
        return boxes.as_output(cotangents) if host else cotangents

    return vector_jacobian_product, value


_Pullback = Callable[[list[Any], bool], Any]
"""Function of the cotangents of the outputs, and whether a tape or a traced function records the call."""


def _recorded_vjp(fun: Callable[..., Any], boxes: Boxes) -> tuple[_Pullback, list[Any], Any]:
    """Return the pullback, the outputs, and the structure of the value, which is None for one array."""
    of_leaves = _OfLeaves(fun, boxes)
    with _refusing_exits(fun, boxes):
        outputs, pullback = vjp(of_leaves, *boxes.leaves, unconnected_gradients="zero")
    structure = of_leaves.structure()
    return lambda seeds, _: pullback(seeds), outputs, structure


def _taped(fun: Callable[..., Any], boxes: Boxes) -> tuple[GradientTape, list[Any], _OfLeaves, list[Any]]:
    """Run `fun` on NumPy values in a tape; return it, handles of the leaves, the function of them, and its outputs."""
    tape = _tape(fun, persistent=True)
    interval = tape._interval
    with tape:
        given = own_handles(boxes.leaves)  # `fun` may write to its arguments
        for leaf in boxes.leaves:
            interval.watch(leaf)
        of_leaves = _OfLeaves(fun, boxes)
        outputs = of_leaves(*boxes.leaves)
        refuse_exits(tape)
    return tape, given, of_leaves, outputs


def _host_vjp(fun: Callable[..., Any], boxes: Boxes) -> tuple[_Pullback, list[Any], Any]:
    """`_recorded_vjp` of NumPy values, whose first product continues the trace of `fun`: it need not rewind."""
    tape, given, of_leaves, outputs = _taped(fun, boxes)
    interval, structure = tape._interval, of_leaves.structure()
    outputs = [copy.copy(y) for y in outputs]  # the caller may write to the value
    trace: Any = interval.trace
    after = trace.node
    repeated = RepeatedProducts(interval, outputs[0], given) if len(outputs) == 1 else None
    if repeated is not None and repeated.known:
        interval.release()  # so that machine code ends the step
    for y in outputs:
        y._computed()
    if repeated is not None and not repeated.known:
        repeated.target_is_computed(interval)

    def pullback(seeds: list[Any], recorded: bool) -> Any:
        nonlocal after
        if not recorded:
            known = None if repeated is None else repeated.run(seeds[0]._computed())
            if known is not None:
                return known
        if recorded or interval.trace is None:  # the current recorder cannot see the ops of `fun`
            constants = [stop_gradient(leaf) for leaf in given]
            return vjp(of_leaves, *constants, unconnected_gradients="zero")[1](seeds)
        if trace.node is after and not trace.pending and trace is active.recorder:
            after = None
            found = tape.gradient(outputs, given, seeds, "zero")
            if repeated is not None:
                repeated.remember(found)
            return found
        if trace is active.recorder:
            begin_step()  # later ops do not lengthen this trace
        for seed in seeds:
            seed._computed()
        with rewound(trace, interval._ticket):
            return tape.gradient(outputs, given, seeds, "zero")

    return pullback, outputs, structure


def make_jvp_of(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return a function that computes the value of `fun` at `x` and its derivative along a direction."""

    def jacobian_vector_product(v: Any) -> tuple[Any, Any]:
        """Return the value of the function and its derivative along `v`."""
        boxes = Boxes(x, is_recorded())
        tangents = [
            _seed(t, leaf.aval) for t, leaf in zip(_parts_like(boxes.argument, v), boxes.leaves, strict=True)
        ]
        boxes.host = boxes.host and not holds_boxes(v)
        outputs, moved, structure = (_host_jvp if boxes.host else _recorded_jvp)(fun, boxes, tangents)
        if structure is None:
            return boxes.as_output(outputs[0]), boxes.as_output(moved[0])
        return boxes.as_output(like(structure, outputs)), boxes.as_output(like(structure, moved))

    return jacobian_vector_product


def _recorded_jvp(
    fun: Callable[..., Any], boxes: Boxes, tangents: list[Tensor]
) -> tuple[list[Any], list[Any], Any]:
    """Return the outputs, their tangents, and the structure of the value, which is None for one array."""
    of_leaves = _OfLeaves(fun, boxes)
    with _refusing_exits(fun, boxes):
        outputs, moved = jvp(of_leaves, boxes.leaves, tangents, unconnected_gradients="zero")
    return outputs, moved, of_leaves.structure()


def _host_jvp(
    fun: Callable[..., Any], boxes: Boxes, tangents: list[Tensor]
) -> tuple[list[Any], list[Any], Any]:
    """`_recorded_jvp` of NumPy values, which runs a known program without recording the tangent."""
    tape, given, of_leaves, outputs = _taped(fun, boxes)
    interval, structure = tape._interval, of_leaves.structure()
    repeated = RepeatedTangents(interval, outputs[0], given, tangents) if len(outputs) == 1 else None
    found = None if repeated is None else repeated.run()
    if found is not None:
        value, tangent = (Tensor(None, -1, outputs[0]._aval, buffer) for buffer in found)
        interval.release()
        return [value], [tangent], structure
    trace: Any = interval.trace
    known = [bool(trace.slots_of(y)) for y in outputs]
    with kept(trace):
        query = interval.query(trace, [y for y, k in zip(outputs, known, strict=True) if k], given)
        slots = tuple([trace.import_tensor(t) for t in tangents])
        made = iter(record_tangents(trace, query.targets, query.sources, slots, query.view, True))
    moved = [next(made) if k else None for k in known]
    results = [zeros_of(y) if t is None else t for t, y in zip(moved, outputs, strict=True)]
    if repeated is not None:
        repeated.remember(outputs[0], results[0])
    return outputs, results, structure


def _parts_like(structure: Any, value: Any) -> list[Any]:
    """Return the leaves of `value`; raise if it has another structure."""
    if isinstance(structure, dict) and isinstance(value, dict) and structure.keys() == value.keys():
        return [part for key in structure for part in _parts_like(structure[key], value[key])]
    if isinstance(structure, (list, tuple)) and isinstance(value, (list, tuple)):
        if len(structure) == len(value):
            return [part for s, v in zip(structure, value, strict=True) for part in _parts_like(s, v)]
    elif not isinstance(structure, (dict, list, tuple)):
        return [value]
    raise ValueError(f"a vector of the structure {structure} is needed, got {type(value).__name__}")


def _seed(value: Any, aval: Any) -> Tensor:
    """Return `value` as a tensor of the shape and dtype of `aval`."""
    tensor: Tensor = as_tensor(value)
    if tensor.aval.dtype != aval.dtype:
        if tensor.aval.dtype.kind == "c":
            raise TypeError(f"a complex vector was given for a value of dtype {aval.dtype.name}")
        tensor = cast(tensor, aval.dtype)
    if tensor.aval.shape != aval.shape:
        raise ValueError(f"a vector of shape {tuple(aval.shape)} is needed, got {tuple(tensor.aval.shape)}")
    return tensor
