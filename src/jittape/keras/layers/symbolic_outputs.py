"""Outputs of layers that are called before there are inputs: a graph of layer calls, for ``Model(inputs, outputs)``.

A layer that is called with an `Input` computes nothing: it is called with two examples of different open lengths, whose
results are never read, and returns a `SymbolicOutput` that knows the call and the shape.
"""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from jittape.core.dtypes import is_floating
from jittape.keras.layers.layer_losses import building
from jittape.keras.saving.object_configs import is_builtin
from jittape.keras.tensor_masks import mask_of, set_mask
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.creation import zeros
from jittape.random.source import get_state, set_state
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = [
    "HAVE_VALUES", "OPEN_LENGTHS", "OPERATORS", "AttributeOfGraph", "InGraphs", "Symbolic", "SymbolicCall",
    "SymbolicMask", "SymbolicOutput", "call_symbolically", "is_symbolic", "keep_values", "leaves_of", "mapped",
    "on_examples", "runs_on_examples",
    "zeros_of",
]  # fmt: skip

HAVE_VALUES = frozenset((Tensor, Variable, np.ndarray))
"""Common types of inputs that are not symbolic."""

OPEN_LENGTHS = (64, 128), (4, 6)
"""Extents of the two examples where an `Input` has None: several windows fit, and halves stay whole.

The second pair is for layers that the first does not fit, such as one with a table of positions.
"""


_thread = threading.local()


@contextmanager
def on_examples(layer: Any) -> Iterator[None]:
    """Call `layer` with examples: its weights keep their values, and a layer with ``stateful=True`` its states."""
    is_outermost = not runs_on_examples()
    if is_outermost:
        _thread.kept = {}
    keep_values(layer)
    try:
        yield
    finally:
        if is_outermost:
            kept, _thread.kept = _thread.kept, None
            for variable, version, value in kept.values():
                if _version(variable) != version:
                    variable.assign(value)


def runs_on_examples() -> bool:
    """Return whether this thread calls layers with examples."""
    return getattr(_thread, "kept", None) is not None


def keep_values(layer: Any) -> None:
    """Let the weights of a layer have their present values when the calls with examples end."""
    for variable in getattr(layer, "variables", ()):
        if not (variable.trainable or id(variable) in _thread.kept):
            value = variable.value()  # the read gives the Variable a slot, which an assignment takes away
            _thread.kept[id(variable)] = variable, _version(variable), value


def _version(variable: Variable) -> tuple[int, ...]:
    """Return what an assignment changes."""
    return id(variable._assigned_in), variable._slot, id(variable._buffer)


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return nested lists, tuples and dicts with `function` applied to what is in them."""
    if type(structure) in (list, tuple):
        return type(structure)([mapped(function, part) for part in structure])
    if type(structure) is dict:
        return {key: mapped(function, part) for key, part in structure.items()}
    return function(structure)


def leaves_of(structure: Any) -> list[Any]:
    """Return what is in nested lists, tuples and dicts, in order."""
    found: list[Any] = []
    mapped(found.append, structure)
    return found


class AttributeOfGraph:
    """Decorator: a property that an attribute of the instance replaces, as in ``self.output = Dense(1)``."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._function(instance)


class InGraphs:
    """Attributes of layers that were called with symbolic inputs."""

    built: bool
    _build: Any

    _call: SymbolicCall | None = None

    @AttributeOfGraph
    def input(self) -> Any:
        """The symbolic inputs of the last such call."""
        return self._last_call("input").inputs

    @AttributeOfGraph
    def output(self) -> Any:
        """The symbolic outputs of the last such call."""
        return self._last_call("output").outputs

    def compute_output_shape(self, input_shape: Any, *other_shapes: Any) -> Any:
        """Return the shape of the result, or its shapes, for inputs of these shapes, with None for open extents.

        The layer is called with zeros. A layer that is not built remains so: a copy of it is called.

        Parameters
        ----------
        input_shape : sequence of int or None, or nested lists and dicts of such
            The batch first.
        *other_shapes
            Those of further tensors that `call` takes.

        Examples
        --------
        >>> jt.keras.layers.Conv2D(8, 3, strides=2).compute_output_shape((None, 28, 28, 1))
        (None, 13, 13, 8)
        """
        inputs, state = tuple(map(_zeros_of, (input_shape, *other_shapes))), get_state()
        try:
            outputs = call_symbolically(self if self.built else copy.deepcopy(self), inputs, {})
        finally:
            set_state(state)  # the weights of the copy have drawn numbers
        return mapped(lambda x: x.shape, outputs)

    def _last_call(self, name: str) -> SymbolicCall:
        if self._call is None:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r} before it is called with the output of a jt.keras.Input"
            )
        return self._call


class SymbolicCall:
    """A call of a layer with symbolic inputs.

    Attributes
    ----------
    outputs : SymbolicOutput, or nested structure of such
    pair : int
        Number of the first of `OPEN_LENGTHS` that the layer and those before it accept.
    """

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # Copies: the caller may append to a list after the call, as a dense block does.
        self.layer, (self.args, self.kwargs) = layer, mapped(lambda x: x, (args, kwargs))
        self._examples: dict[int, list[Any]] = {}
        structure = self._first_that_fits(max(x.pair for x in self.symbols()))
        numbers = iter(range(len(self._examples[self.pair])))
        self.outputs = mapped(lambda _: SymbolicOutput(self, next(numbers)), structure)

    @property
    def inputs(self) -> Any:
        """The first argument."""
        return self.args[0]

    def examples_of(self, pair: int) -> list[Any]:
        """Return the two examples of each result for one of `OPEN_LENGTHS`."""
        if pair not in self._examples:
            self._computed(pair)
        return self._examples[pair]

    def _is_open(self) -> bool:
        return any(first is not second for first, second in [x.examples for x in self.symbols()])

    def _first_that_fits(self, pair: int) -> Any:
        """Return the first result for this or the next of `OPEN_LENGTHS`; raise the first error if none fits."""
        self.pair = pair
        try:
            return self._computed(pair)
        except (ValueError, IndexError) as error:
            failure = error
            if not self._is_open() or pair + 1 == len(OPEN_LENGTHS):
                raise
        try:
            return self._first_that_fits(pair + 1)
        except (ValueError, IndexError):
            raise failure from None

    def _computed(self, pair: int) -> Any:
        """Compute the examples of the results, and return the first of them in their structure."""
        first = self._result(pair, 0)
        second = self._result(pair, 1) if self._is_open() else first
        both = zip(leaves_of(first), leaves_of(second), strict=True)
        self._examples[pair] = [_unread(examples) for examples in both]
        return first

    def _result(self, pair: int, number: int) -> Any:
        args, kwargs = [self._example(part, pair, number) for part in (self.args, self.kwargs)]
        with on_examples(self.layer):
            return self.layer(*args, **kwargs)

    def _example(self, structure: Any, pair: int, number: int) -> Any:
        if type(structure) is dict and structure.get("training"):
            structure = structure | {"training": False}  # moving averages do not learn from examples
        casts = getattr(self.layer, "takes_integers", False)

        def example(x: Any) -> Any:
            if not isinstance(x, Symbolic):
                return x
            given = x.examples_of(pair)[number]
            return cast(given, "int32") if casts else given

        return mapped(example, structure)

    def symbols(self) -> Iterator[Symbolic]:
        """Return the symbolic arguments."""
        return (x for x in leaves_of([self.args, self.kwargs]) if isinstance(x, Symbolic))

    def run(self, value_of: Callable[[Symbolic], Any]) -> list[Any]:
        """Return the results for values of the symbolic arguments."""

        def value(x: Any) -> Any:
            return value_of(x) if isinstance(x, Symbolic) else x

        return leaves_of(self.layer(*mapped(value, self.args), **mapped(value, self.kwargs)))


def _unread(examples: Any) -> Any:
    """Return zeros in place of results in a floating dtype, so that the ops that give them never run.

    An example may have more steps than a table of positions has rows.
    """

    def zeros_like(x: Any) -> Any:
        if not is_floating(x.dtype):
            return x  # perhaps a shape, that another layer reads
        result = zeros(x.shape, x.dtype)
        set_mask(result, mask_of(x))
        return result

    first, second = examples
    if not isinstance(first, Tensor):
        return examples
    kept = zeros_like(first)
    return kept, kept if second is first else zeros_like(second)


def is_symbolic(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether there is a symbolic tensor among the arguments of a call."""
    return any(isinstance(x, Symbolic) for x in leaves_of([args, kwargs]))


def call_symbolically(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the symbolic outputs of a layer."""
    if isinstance(layer, InGraphs) and not layer.built and _builds_itself(type(layer)):
        with building(layer):  # examples have numbers in place of None
            layer._build(args, kwargs)
    call = SymbolicCall(layer, args, kwargs)
    if isinstance(layer, InGraphs):
        layer._call = call
    return call.outputs


def _builds_itself(kind: type) -> bool:
    """Return whether a class of the user defines `build`."""
    return not is_builtin(next(base for base in kind.__mro__ if "build" in vars(base)))


class Symbolic:
    """The base of `Input` and `SymbolicOutput`: shape and operators."""

    pair: int = 0
    """Number of the `OPEN_LENGTHS` of `examples`."""
    batch: int | None = None
    """The length of the batch that an `Input` was given; calls with another length are possible."""

    __array_ufunc__ = None

    def examples_of(self, pair: int) -> Any:
        """Return two tensors that differ in the open extents, which are one of `OPEN_LENGTHS`."""
        raise NotImplementedError

    @property
    def examples(self) -> Any:
        """The two tensors for `pair`."""
        return self.examples_of(self.pair)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The extents; None for those that an `Input` leaves open, as it does for the batch by default."""
        pairs = zip(*(x.shape[1:] for x in self.examples), strict=True)
        return (self.batch, *(m if m == n else None for m, n in pairs))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(  # a TypeError or ValueError would be taken for numbers that do not fit
            "a symbolic tensor has no values: use layers and operators between Input and Model, and "
            "jt.keras.layers.Lambda(function) for other functions"
        )

    def __bool__(self) -> bool:
        return self.__array__()

    def __iter__(self) -> Iterator[Any]:
        return self.__array__()


class Zeros(Symbolic):
    """Symbolic zeros of a shape that begins with the batch."""

    def __init__(self, shape: Any) -> None:
        self.batch, *self.extents = shape

    def examples_of(self, pair: int) -> Any:
        """Return zeros with open extents of `OPEN_LENGTHS`."""
        return zeros_of(self.extents, None, pair)


def zeros_of(extents: Any, dtype: Any, pair: int) -> Any:
    """Return zeros of two shapes for one input, or one twice if no extent is open."""
    first, second = [zeros((1, *[n if m is None else m for m in extents]), dtype) for n in OPEN_LENGTHS[pair]]
    return (first, second) if None in extents else (first, first)


def _zeros_of(shapes: Any) -> Any:
    if isinstance(shapes, dict):
        return {key: _zeros_of(part) for key, part in shapes.items()}
    if not isinstance(shapes, (tuple, list)):
        raise TypeError(f"[compute_output_shape] a shape must be a tuple of int and None, got {shapes!r}")
    if not shapes:
        raise ValueError(f"[compute_output_shape] a shape must begin with the batch, got {shapes!r}")
    if all(extent is None or isinstance(extent, int) for extent in shapes):
        return Zeros(shapes)
    return type(shapes)([_zeros_of(part) for part in shapes])


class SymbolicOutput(Symbolic):
    """An output of a layer in the graph of a functional model.

    Attributes
    ----------
    call : SymbolicCall
    number : int
        Position among the outputs of the call.
    """

    def __init__(self, call: SymbolicCall, number: int) -> None:
        self.call, self.number, self.pair = call, number, call.pair
        self.batch = next((x.batch for x in call.symbols()), None)

    def examples_of(self, pair: int) -> Any:
        """Return two results that differ in the open extents."""
        return self.call.examples_of(pair)[self.number]

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.examples[0].dtype

    @property
    def _keras_mask(self) -> SymbolicMask | None:
        """The mask that the output has; None without one."""
        return None if mask_of(self.examples[0]) is None else SymbolicMask(self)

    @property
    def name(self) -> str:
        """The name of the layer."""
        return getattr(self.call.layer, "name", None) or self.call.layer.__name__

    def __repr__(self) -> str:
        return f"<SymbolicOutput of {self.name!r}: shape={self.shape}, dtype={self.dtype.name}>"


class SymbolicMask(Symbolic):
    """The mask of a symbolic output, which has a shape and no values; layers receive it automatically."""

    def __init__(self, of: SymbolicOutput) -> None:
        self.of, self.pair, self.batch = of, of.pair, of.batch

    def examples_of(self, pair: int) -> Any:
        """Return the masks of two results."""
        return [mask_of(example) for example in self.of.examples_of(pair)]

    def __repr__(self) -> str:
        return f"<SymbolicMask of {self.of.name!r}: shape={self.shape}>"


OPERATORS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "abs", "getitem")
}
"""Operators of symbolic tensors, by the names of `operator`."""
