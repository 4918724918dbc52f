"""Random programs for the scheduler: with indices that are checked, steps of NumPy, rows that are shared, and control.

They lean on `random_programs`, and add what makes steps wait for each other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.control.body import body_of
from jittape.control.branch import branch_op
from jittape.control.loop import loop_op
from jittape.control.loop_parts import COUNT, COUNTED, WHILE, carry, stack
from jittape.core.builder import Builder, Symbol, literal
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Body, Program, check, dead_code_removed
from jittape.primitives.broadcast import broadcast, cast_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import (
    add_op,
    multiply_op,
    subtract_op,
    zero_dominant_multiply_op,
)
from jittape.primitives.elementwise.comparison import greater_op, less_op, where_op
from jittape.primitives.elementwise.exponential import exp_op
from jittape.primitives.elementwise.hyperbolic import tanh_op
from jittape.primitives.elementwise.piecewise import absolute_op, minimum_op
from jittape.primitives.elementwise.trigonometric import cos_op, sin_op
from jittape.primitives.indexing.gather_ops import gather_op, scatter_add_op, scatter_update_op
from jittape.primitives.indexing.sorting import argsort_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.reductions import max_op, prod_op
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.views import Region, pad_op, slice_op, transpose_op
from jittape.transform.differentiate import Reverse, TapeView, seen
from jittape.transform.op_paths import Path
from random_programs import SHAPES, Generator

INT64 = np.dtype(np.int64)
ROWS = [(48, 4), (48, 4), (48,), (4, 4), (4, 6), (48, 6), (6,), (3, 48, 4), ()]


class WideGenerator(Generator):
    """Appends random ops of more kinds; `depth` is how many loops and branches there are around them."""

    def __init__(self, rng: random.Random, depth: int = 0) -> None:
        super().__init__(rng, rng.choice([SHAPES, ROWS, ROWS + SHAPES]))
        self.depth = depth
        self.indices = self.builder.new_slot(Aval((rng.choice([1, 4, 7, 48]),), INT64))
        self.wanted: list[Symbol] = []
        """What is to be an output."""

    def makers(self) -> list[tuple[int, Callable[[Symbol], Any]]]:
        """Return those of the base class and more."""
        found = [
            *super().makers(),
            (6, self.gather),
            (4, self.computed_gather),
            (4, self.scatter),
            (3, self.sort),
            (6, self.softmax),
            (8, self.chain),
            (8, self.product),
            (3, self.products_added),
            (3, self.choose),
            (3, self.mean),
            (6, self.neighbor),
            (4, self.diagonal),
            (12, self.update_by_product),
        ]
        return [*found, (3, self.loop), (3, self.branch)] if self.depth < 2 else found

    def reduce(self, x: Symbol) -> Any:
        """Leave out products over several axes at once, which have no gradient."""
        made = super().reduce(x)
        last = self.builder.ops[-1] if made is not None else None
        return None if last and last.primitive is prod_op and len(dict(last.params)["axes"]) > 1 else made

    # ---- indices -------------------------------------------------------------------------------------------------

    def gather(self, x: Symbol) -> Any:
        axes = [axis for axis, n in enumerate(x.shape) if n >= 3]
        return gather_op.bind(x, self.indices, axis=self.rng.choice(axes)) if axes else None

    def _computed_indices(self, x: Symbol, extent: int) -> Any:
        """Return indices that are mostly within an extent."""
        most = broadcast(literal(extent - 1 if self.rng.random() < 0.95 else extent, x.dtype), x.shape)
        return cast_op.bind(minimum_op.bind(absolute_op.bind(x), most), dtype=INT64)

    def computed_gather(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or x.aval.size > 200:
            return None
        table = self.rng.choice(self.values)
        if not table.shape or table.shape[0] == 0 or table.aval.size > 400:
            return None
        return gather_op.bind(table, self._computed_indices(x, table.shape[0]), axis=0)

    def scatter(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or not x.shape or x.aval.size > 400:
            return None
        if x.shape[0] == self.indices.shape[0] and self.rng.random() < 0.5:
            return scatter_add_op.bind(x, self.indices, axis=0, shape=(self.rng.randint(3, 6), *x.shape[1:]))
        places = self._computed_indices(x, 5)
        if self.rng.random() < 0.5:
            return scatter_add_op.bind(x, places, axis=0, shape=(5,))
        into = [y for y in self.values if y.dtype == x.dtype and len(y.shape) == 1 and y.shape[0] >= 5]
        return scatter_update_op.bind(self.rng.choice(into), x, places, axis=0) if into else None

    def sort(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or len(x.shape) != 1:
            return None
        order = argsort_op.bind(x, axis=0, descending=self.rng.random() < 0.5, dtype=np.dtype(np.int32))
        return gather_op.bind(x, cast_op.bind(order, dtype=INT64), axis=0)

    # ---- rows ----------------------------------------------------------------------------------------------------

    def _spread(self, x: Symbol, like: Symbol) -> Any:
        """Return `x`, which lacks the last dimension of `like`, in the shape of that."""
        return broadcast(reshape_op.bind(x, shape=(*x.shape, 1)), like.shape)

    def softmax(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or not x.shape or x.shape[-1] == 0:
            return None
        last = (len(x.shape) - 1,)
        e = exp_op.bind(subtract_op.bind(x, self._spread(max_op.bind(x, axes=last), x)))
        total = self._spread(sum_op.bind(e, axes=last), x)
        self.values.append(e)
        return multiply_op.bind(e, total)

    def mean(self, x: Symbol) -> Any:
        """Subtract what rows have in common."""
        if x.dtype.kind != "f" or len(x.shape) < 2:
            return None
        return subtract_op.bind(x, broadcast(sum_op.bind(x, axes=(0,)), x.shape))

    def neighbor(self, x: Symbol) -> Any:
        """Subtract the row before each row."""
        if x.dtype.kind != "f" or not x.shape or x.shape[0] < 3:
            return None
        n, first = x.shape[0], self.rng.randint(0, 1)
        part = slice_op.bind(x, region=Region((0,), (1 - first,), (n - 1,), (1,)))
        return subtract_op.bind(
            x, pad_op.bind(part, region=Region((0,), (first,), (n - 1,), (1,)), shape=x.shape)
        )

    def product(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or len(x.shape) != 2:
            return None
        found = [y for y in self.values if y.dtype == x.dtype and len(y.shape) == 2]
        after = [y for y in found if y.shape[0] == x.shape[1]]
        beside = [y for y in found if y.shape[0] == x.shape[0]]
        if beside and (not after or self.rng.random() < 0.4):
            return matmul_op.bind(transpose_op.bind(x, perm=(1, 0)), self.rng.choice(beside))
        return matmul_op.bind(x, self.rng.choice(after)) if after else None

    def products_added(self, x: Symbol) -> Any:
        first, second = self.product(x), self.product(x)
        if first is None or second is None or first.shape != second.shape:
            return first
        return add_op.bind(first, second)

    def update_by_product(self, x: Symbol) -> Any:
        """Add a product to an input, as a step of an optimizer does; such an output may take the input's memory."""
        matrices = [y for y in self.values if y.dtype.kind == "f" and len(y.shape) == 2]
        made = self.product(self.rng.choice(matrices)) if matrices else None
        inputs = [] if made is None else [y for y in self.inputs if y.aval == made.aval]
        if not inputs:
            return made
        rates = [y for y in self.values if y.aval == Aval((), made.dtype)]
        rate = self.rng.choice(rates) if rates else literal(self.rng.choice([0.5, -0.25]), made.dtype)
        if self.rng.random() < 0.8:
            made = multiply_op.bind(broadcast(rate, made.shape), made)
        self.wanted.append(self.rng.choice([add_op, subtract_op]).bind(self.rng.choice(inputs), made))
        return self.wanted[-1]

    def diagonal(self, x: Symbol) -> Any:
        """A diagonal matrix, of which only the diagonal is computed as long as that goes."""
        vectors = [
            y for y in self.values if y.dtype.kind == "f" and len(y.shape) == 1 and 3 <= y.shape[0] <= 48
        ]
        if not vectors:
            return None
        x = self.rng.choice(vectors)
        n = x.shape[0]
        made = zero_dominant_multiply_op.bind(eye(n, dtype=x.dtype), broadcast(x, (n, n)))
        y = self.rng.choice([y for y in self.values if y.aval == x.aval])
        if self.rng.random() < 0.6:
            other = zero_dominant_multiply_op.bind(eye(n, dtype=x.dtype), broadcast(tanh_op.bind(y), (n, n)))
            made = add_op.bind(transpose_op.bind(made, perm=(1, 0)), other)
        if self.rng.random() < 0.6:
            region = Region((0,), (self.rng.randint(0, 2),), (n - 2,), (1,))
            made = slice_op.bind(made, region=region)
        self.wanted.append(made)
        return made

    def chain(self, x: Symbol) -> Any:
        """A long expression, of which nests are cut."""
        if x.dtype.kind != "f":
            return None
        y = x
        for _ in range(self.rng.randint(3, 12)):
            op = self.rng.choice([sin_op, cos_op, tanh_op, absolute_op])
            other = self.rng.choice([x, y, *[v for v in self.values[-5:] if v.aval == x.aval]])
            y = self.rng.choice([add_op, multiply_op, subtract_op]).bind(op.bind(y), other)
            if self.rng.random() < 0.3:
                self.values.append(y)
        return tanh_op.bind(y)

    def choose(self, x: Symbol) -> Any:
        same = [y for y in self.values if y.aval == x.aval]
        if x.dtype.kind != "f":
            return None
        y = self.rng.choice(same)
        return where_op.bind(self.rng.choice([less_op, greater_op]).bind(x, y), tanh_op.bind(y), x)

    # ---- control -------------------------------------------------------------------------------------------------

    def _body(
        self, avals: Sequence[Aval], results: Sequence[int], last: Callable[[Sequence[Symbol]], Any] | None
    ) -> Body:
        """Return a body for inputs of these avals, whose outputs are like those inputs that `results` names.

        `last` gives a further output, made of the inputs.
        """
        inner = WideGenerator(self.rng, self.depth + 1)
        inner.builder = Builder(0)
        inputs = [inner.builder.new_slot(aval) for aval in avals]
        inner.inputs = inputs
        inner.values = [x for x in inputs if x.dtype.kind == "f"]
        integers = [x for x in inputs if x.aval == Aval((), INT64)]
        vectors = [x for x in inputs if x.dtype == INT64 and len(x.shape) == 1]
        inner.start, inner.indices = integers[-1], vectors[-1]
        inner.append(self.rng.randint(1, 8))
        outputs = []
        with recording_with(inner.builder):
            for number in results:
                same = [y for y in inner.values if y.aval == avals[number]]
                outputs.append(tanh_op.bind(add_op.bind(self.rng.choice(same), inputs[number])))
            if last is not None:
                outputs.append(last(inputs))
        slots = tuple([x.slot for x in inputs])
        made = Program(slots, tuple(inner.builder.ops), tuple([y.slot for y in outputs]), inner.builder.avals)
        return body_of(check(made))

    def _operands(self, x: Symbol) -> list[Symbol]:
        """Return a few values of floats, `x` first."""
        found = [y for y in self.values if y.dtype.kind == "f" and y.aval.size <= 400 and y is not x]
        return [x, *self.rng.sample(found, min(len(found), self.rng.randint(0, 2)))]

    def branch(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or x.aval.size > 400:
            return None
        operands = self._operands(x)
        given = [self.start, self.indices, *operands]
        results = [2 + self.rng.randrange(len(operands)) for _ in range(self.rng.randint(1, 3))]
        avals = [y.aval for y in given]
        bodies = tuple([self._body(avals, results, None) for _ in range(self.rng.randint(1, 3))])
        made = [
            branch_op.bind(self.start, *given, bodies=bodies, result_index=i)
            for i in self.rng.sample(range(len(results)), self.rng.randint(1, len(results)))
        ]
        self.values += made[1:]
        return made[0]

    def loop(self, x: Symbol) -> Any:
        if x.dtype.kind != "f" or x.aval.size > 400:
            return None
        rng, operands = self.rng, self._operands(x)
        fixed = [self.start, self.indices, *operands[1:]]
        carries = [x, *[y for y in operands[1:] if rng.random() < 0.5]]
        trips = rng.choice([0, 1, 2, 3, 4, COUNTED, WHILE])
        stacks = [y for y in self.values if trips > 0 and y.dtype.kind == "f" and y.shape[:1] == (trips,)][:1]
        rows = [Aval(y.shape[1:], y.dtype) for y in stacks]
        avals = [Aval((), INT64), *[y.aval for y in (*fixed, *carries)], *rows]
        numbers = [1 + len(fixed) + i for i in range(len(carries))]
        limit = rng.choice([None, None, 1, 2]) if trips == WHILE else None
        most = literal(rng.randint(0, 3), INT64)
        body = self._body(
            avals, numbers, (lambda inputs: less_op.bind(inputs[0], inputs[1])) if trips == WHILE else None
        )
        head = [less_op.bind(self.start, most)] if trips == WHILE else [self.start] * (trips == COUNTED)
        params = {
            "body": body, "fixed": len(fixed), "carries": len(carries), "trips": trips, "limit": limit,
            "backwards": trips != WHILE and rng.random() < 0.3, "recompute": False,
        }  # fmt: skip
        picks = [carry(i) for i in range(len(carries)) if i == 0 or rng.random() < 0.6]
        if trips > 0:
            floats = [s for s, aval in body.program.avals.items() if aval.dtype.kind == "f"]
            picks += [stack(slot) for slot in rng.sample(floats, min(len(floats), rng.randint(0, 2)))]
        made = [loop_op.bind(*head, *fixed, *carries, *stacks, **params, result_index=pick) for pick in picks]
        if trips == WHILE:
            count = loop_op.bind(*head, *fixed, *carries, *stacks, **params, result_index=COUNT)
            made.append(cast_op.bind(count, dtype=np.dtype(np.float64)))
        rng.shuffle(made)
        self.values += made[1:]
        return made[0]

    # ---- gradients -----------------------------------------------------------------------------------------------

    def differentiate(self) -> None:
        """Append the gradient of the sum of a value with respect to all inputs of floats."""
        targets = [y for y in self.values[-6:] if y.dtype.kind == "f" and y not in self.inputs]
        if not targets:
            return
        target, builder = self.rng.choice(targets), self.builder
        path = Path(tuple([x.slot for x in self.inputs]), tuple(builder.ops), dict(builder.avals), {})
        sources = sorted([x.slot for x in self.inputs])
        view = TapeView((0,), tuple([(slot, slot) for slot in sources]), False)
        reverse = Reverse.between(path, seen(path, view), [target.slot], sources)
        with recording_with(builder):
            seed = broadcast(literal(1, target.dtype), target.shape)
        reverse.seed(builder, target.slot, seed)
        if reverse.run(builder) is None:
            self.values += [reverse.cotangents[slot] for slot in sources if slot in reverse.cotangents]

    def program(self, most: int) -> Program:
        """Return a program of about so many ops, often with a gradient."""
        self.append(self.rng.randint(1, most))
        if self.rng.random() < 0.4:
            self.differentiate()
        found = self.values[len(self.inputs) :] or self.values
        outputs = [*self.rng.choices(found, k=self.rng.randint(1, 4)), self.values[-1], *self.wanted[-2:]]
        inputs = tuple([x.slot for x in (*self.inputs, self.start, self.indices)])
        slots = tuple([y.slot for y in outputs])
        return check(dead_code_removed(Program(inputs, tuple(self.builder.ops), slots, self.builder.avals)))


def wide_program(seed: int, most: int = 16) -> tuple[Program, list[Any]]:
    """Return a program and arrays for its inputs."""
    program = WideGenerator(random.Random(seed)).program(most)
    rng = np.random.default_rng(seed)
    arrays = []
    for aval in program.input_avals():
        drawn = rng.integers(0, 3, aval.shape) if aval.dtype.kind == "i" else rng.normal(size=aval.shape)
        arrays.append(np.asarray(drawn, aval.dtype))
    return program, arrays


def donated_pairs(program: Program, rng: random.Random) -> tuple[tuple[int, int], ...]:
    """Return inputs and outputs, by position, of which the output may have the input's memory."""
    inputs, avals = list(enumerate(program.inputs)), program.avals
    found = []
    for position, slot in enumerate(program.outputs):
        fitting = [i for i, x in inputs if avals[x] == avals[slot]]
        if fitting and slot not in program.inputs and rng.random() < 0.6:
            chosen = rng.choice(fitting)
            inputs = [(i, x) for i, x in inputs if i != chosen]
            found.append((chosen, position))
    return tuple(found)
