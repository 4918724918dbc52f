"""Random programs of views, maps, reductions, products and odd dtypes: what the compiler is compared with NumPy on."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.builder import Builder, Symbol, literal
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Program, check, dead_code_removed
from jittape.primitives.broadcast import broadcast_to_op, cast_op, iota_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import add_op, multiply_op, negative_op, square_op, subtract_op
from jittape.primitives.elementwise.exponential import exp_op
from jittape.primitives.elementwise.piecewise import absolute_op, maximum_op
from jittape.primitives.elementwise.trigonometric import sin_op
from jittape.primitives.identity import identity_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.cumulative import cumsum_op, recurrence_op
from jittape.primitives.reduce.extremum_indices import argmax_op, argmin_op
from jittape.primitives.reduce.reductions import max_op, min_op, prod_op
from jittape.primitives.shape.views import (
    Region,
    concat_op,
    dynamic_update_slice_op,
    pad_op,
    slice_op,
    transpose_op,
)

SHAPES = [
    (),
    (1,),
    (5,),
    (3, 4),
    (4, 3),
    (2, 3, 4),
    (1, 4),
    (3, 1),
    (2, 1, 4),
    (0,),
    (0, 3),
    (3, 0, 2),
    (17,),
    (2, 2050),
]
FLOATS = [np.dtype("float32"), np.dtype("float64")]
OTHERS = [np.dtype(name) for name in ("int32", "bool", "float16", "complex64")]


class Generator:
    """Appends random ops to a builder."""

    def __init__(self, rng: random.Random, shapes: Sequence[tuple[int, ...]] = SHAPES) -> None:
        self.rng = rng
        self.builder = Builder(0)
        self.inputs = [
            self.builder.new_slot(Aval(rng.choice(shapes), rng.choice(FLOATS)))
            for _ in range(rng.randint(1, 4))
        ]
        self.start = self.builder.new_slot(Aval((), np.dtype(np.int64)))
        self.values: list[Symbol] = list(self.inputs)

    def makers(self) -> list[tuple[int, Callable[[Symbol], Any]]]:
        """Return what appends an op, given a value that it is to use, and how often it is to be taken."""
        return [
            (25, self.binary),
            (10, self.unary),
            (10, self.broadcast),
            (10, self.transpose),
            (10, self.reduce),
            (10, self.slice),
            (8, self.place),
            (7, self.reshape),
            (5, self.concat),
            (4, self.update),
            (4, self.cumulate),
            (2, self.first_place),
            (5, self.matmul),
            (2, self.constant),
            (2, self.cast),
            (2, self.iota),
        ]

    def append(self, count: int) -> None:
        """Append that many ops, or fewer where one cannot be applied."""
        weights, makers = zip(*self.makers(), strict=True)
        with recording_with(self.builder):
            for _ in range(count):
                recent = self.rng.random() < 0.7
                made = self.rng.choices(makers, weights)[0](
                    self.rng.choice(self.values[-6:] if recent else self.values)
                )
                if made is not None and made.aval.size <= 30_000:
                    self.values.append(made)

    def program(self, most: int) -> Program:
        """Return a program of at most so many ops."""
        self.append(self.rng.randint(1, most))
        outputs = [*self.rng.choices(self.values, k=self.rng.randint(1, 4)), self.values[-1]]
        inputs = tuple(s.slot for s in (*self.inputs, self.start))
        slots = tuple(s.slot for s in outputs)
        return check(dead_code_removed(Program(inputs, tuple(self.builder.ops), slots, self.builder.avals)))

    def binary(self, x: Symbol) -> Any:
        same = [y for y in self.values if y.aval == x.aval]
        op = self.rng.choice([add_op, subtract_op, multiply_op, maximum_op])
        return op.bind(x, self.rng.choice(same)) if x.dtype.kind == "f" else None

    def unary(self, x: Symbol) -> Any:
        op = self.rng.choice([exp_op, sin_op, negative_op, absolute_op, square_op, identity_op])
        return op.bind(x) if x.dtype.kind == "f" else None

    def broadcast(self, x: Symbol) -> Any:
        shape = [self.rng.choice([1, 3, 5]) if n == 1 else n for n in x.shape]
        if self.rng.random() < 0.6 and len(shape) < 4:
            shape.insert(0, self.rng.randint(1, 4))
        return broadcast_to_op.bind(x, shape=tuple(shape))

    def transpose(self, x: Symbol) -> Any:
        perm = self.rng.sample(range(len(x.shape)), len(x.shape))
        return transpose_op.bind(x, perm=tuple(perm))

    def reduce(self, x: Symbol) -> Any:
        if not x.shape or x.dtype.kind != "f":
            return None
        axes = sorted(self.rng.sample(range(len(x.shape)), self.rng.randint(1, len(x.shape))))
        return self.rng.choice([sum_op, sum_op, max_op, min_op, prod_op]).bind(x, axes=tuple(axes))

    def _axis(self, x: Symbol) -> tuple[int, int, int] | None:
        """An axis, its extent and a step."""
        if x.aval.size == 0 or not x.shape:
            return None
        axis = self.rng.randrange(len(x.shape))
        return axis, x.shape[axis], self.rng.choice([1, 1, 2, -1, -2, 3])

    def slice(self, x: Symbol) -> Any:
        found = self._axis(x)
        if found is None:
            return None
        axis, n, step = found
        size = self.rng.randint(0 if self.rng.random() < 0.1 else 1, 1 + (n - 1) // abs(step))
        room = n - 1 - max(0, size - 1) * abs(step)
        if step == 1 and room >= 2 and self.rng.random() < 0.5:
            return slice_op.bind(x, self.start, region=Region((axis,), (None,), (size,), (step,)))
        offset = self.rng.randint(0, room) + (0 if step > 0 else n - 1 - room)
        return slice_op.bind(x, region=Region((axis,), (offset,), (size,), (step,)))

    def place(self, x: Symbol) -> Any:
        found = self._axis(x)
        if found is None:
            return None
        axis, n, step = found
        span = (n - 1) * abs(step) + 1
        room = self.rng.randint(0, 3)
        shape = (*x.shape[:axis], span + room, *x.shape[axis + 1 :])
        if room >= 2 and step > 0:
            return pad_op.bind(x, self.start, region=Region((axis,), (None,), (n,), (step,)), shape=shape)
        offset = self.rng.randint(0, room) + (0 if step > 0 else span - 1)
        return pad_op.bind(x, region=Region((axis,), (offset,), (n,), (step,)), shape=shape)

    def concat(self, x: Symbol) -> Any:
        if not x.shape:
            return None
        axis = self.rng.randrange(len(x.shape))
        rest = [n for a, n in enumerate(x.shape) if a != axis]
        fitting = [
            y
            for y in self.values
            if y.dtype == x.dtype
            and len(y.shape) == len(x.shape)
            and [*y.shape[:axis], *y.shape[axis + 1 :]] == rest
        ]
        return concat_op.bind(x, *self.rng.choices(fitting, k=self.rng.randint(1, 3)), axis=axis)

    def update(self, x: Symbol) -> Any:
        found = self._axis(x)
        if found is None or x.dtype.kind != "f":
            return None
        axis, n, step = found
        size = 1 + (n - 1) // abs(step)
        region = Region((axis,), (0 if step > 0 else n - 1,), (size,), (step,))
        if step == 1 and n >= 3:
            return dynamic_update_slice_op.bind(
                x,
                square_op.bind(slice_op.bind(x, region=Region((axis,), (0,), (n - 2,), (1,)))),
                self.start,
                region=Region((axis,), (None,), (n - 2,), (1,)),
            )
        return dynamic_update_slice_op.bind(
            x, negative_op.bind(slice_op.bind(x, region=region)), region=region
        )

    def cumulate(self, x: Symbol) -> Any:
        if not x.shape or x.dtype.kind != "f":
            return None
        axis = self.rng.randrange(len(x.shape))
        if self.rng.random() < 0.3:
            return recurrence_op.bind(sin_op.bind(x), x, axis=axis)
        return cumsum_op.bind(x, axis=axis)

    def first_place(self, x: Symbol) -> Any:
        if not x.shape or x.dtype.kind not in "fib":
            return None
        axis = self.rng.randrange(len(x.shape))
        if x.shape[axis] == 0:
            return None
        op = self.rng.choice([argmax_op, argmin_op])
        return cast_op.bind(op.bind(x, axis=axis, dtype=np.dtype(np.int64)), dtype=np.dtype(np.float64))

    def reshape(self, x: Symbol) -> Any:
        n = x.aval.size
        return reshape_op.bind(
            x, shape=self.rng.choice([(n,), (1, n), (n, 1), (2, n // 2) if n % 2 == 0 else (n,)])
        )

    def matmul(self, x: Symbol) -> Any:
        if len(x.shape) < 2 or x.dtype.kind != "f":
            return None
        last = len(x.shape) - 1
        swapped = transpose_op.bind(x, perm=(*range(last - 1), last, last - 1))
        return matmul_op.bind(*self.rng.choice([(x, swapped), (swapped, x)]))

    def constant(self, x: Symbol) -> Any:
        return literal(self.rng.choice([0.5, -2, 1.5, 30.25]), x.dtype) if x.dtype.kind == "f" else None

    def cast(self, x: Symbol) -> Any:
        return cast_op.bind(x, dtype=self.rng.choice(FLOATS + OTHERS))

    def iota(self, x: Symbol) -> Any:
        if not x.shape:
            return None
        return iota_op.bind(shape=x.shape, axis=len(x.shape) - 1, dtype=self.rng.choice(FLOATS))


def random_program(seed: int, most: int = 25) -> tuple[Program, list[np.ndarray]]:
    """A program of at most `most` ops, and arrays for its inputs."""
    program = Generator(random.Random(seed)).program(most)
    rng = np.random.default_rng(seed)
    arrays = []
    for aval in program.input_avals():
        drawn = rng.integers(0, 3) if aval.dtype.kind == "i" else rng.normal(size=aval.shape)
        arrays.append(np.asarray(drawn, aval.dtype))
    return program, arrays
