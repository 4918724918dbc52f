"""Builder of the structured form: types, common subexpressions, loops and branches."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from jittape.errors import NoGradientError
from jittape.numba_ad.lower.numba_types import is_float, new_array_text, result_type, unified
from jittape.numba_ad.scalar_rules import BINARY, COMPARE, DIVIDE_BY_ROOT, FUNCTIONS, UNARY
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
    Array,
    Block,
    Constant,
    Dim,
    Effect,
    If,
    IfPhi,
    Load,
    Loop,
    LoopPhi,
    Op,
    Resize,
    Root,
    Scalar,
    Store,
    Value,
    View,
    Where,
)

__all__ = ["Builder", "constant", "undefined"]

ROOTS = (FUNCTIONS[math.sqrt], FUNCTIONS[np.sqrt])
"""Rules of square roots."""

FOLDED = (
    {BINARY[name]: BINARY[name].function for name in ("Add", "Sub", "Mult", "FloorDiv", "Mod")}
    | {rule: rule.function for rule in COMPARE.values()}
    | {UNARY["Not"]: operator.not_, UNARY["USub"]: operator.neg}
)
"""Functions of rules that are computed here if all operands are ints or bools."""


def operand_types(operands: list[Scalar]) -> list[Any]:
    """Return the types of operands; that of an int literal is literal, as ``x ** 2`` is another function in Numba."""
    return [
        types.literal(x.value) if isinstance(x, Constant) and x.type == types.int64 else x.type
        for x in operands
    ]


def _is_root(one: Scalar) -> bool:
    return isinstance(one, Value) and isinstance(one.statement, Op) and one.statement.rule in ROOTS


def constant(value: Any) -> Constant:
    """Return a literal with the type that Numba gives to it."""
    known = (
        types.boolean if isinstance(value, bool) else types.int64 if isinstance(value, int) else types.float64
    )
    return Constant(value, known)


def undefined(kind: Any) -> Constant:
    """Return the zero that stands for a variable that is not assigned on this path."""
    zero: Any = False if kind == types.boolean else 0 if isinstance(kind, types.Integer) else 0.0
    return Constant(zero, kind)


def _shown(array: Array) -> str:
    """Return the user's name of an array."""
    return array.name.rpartition("_")[0] or array.name


class Builder:
    """Appends statements to the current block."""

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose
        self.block = Block()
        self.where = Where("", 0, "")
        self.top = self.block
        self._names: dict[str, int] = {}
        self._epoch = 0

    def refusal(self, reason: str, way_out: str) -> NoGradientError:
        """Return the error for an expression of the current line that has no derivative."""
        where = self.where
        return NoGradientError(
            f"{self.purpose}: {where.file}:{where.line}: `{where.text.strip()}`: {reason}. {way_out}"
        )

    def name(self, base: str) -> str:
        """Return a new name for a variable of the generated code."""
        base = re.sub(r"\W", "", base) or "t"
        self._names[base] = number = self._names.get(base, 0) + 1
        return f"{base}_{number}"

    def op(self, rule: Any, operands: list[Any], base: str = "t") -> Scalar:
        """Append an operation on scalars."""
        if rule in FOLDED and all(isinstance(x, Constant) and isinstance(x.value, int) for x in operands):
            values = [x.value for x in operands if isinstance(x, Constant)]
            if not (rule in (BINARY["FloorDiv"], BINARY["Mod"]) and values[1] == 0):
                return constant(FOLDED[rule](*values))
        key: tuple[Any, ...] = (rule.template, *[_key(x) for x in operands])
        for x in operands:
            if isinstance(x, Array):
                self.check_origin(x)
                key = (*key, x.root.epoch, self._epoch)
        found = None if getattr(rule, "draws", False) else self._find(key)
        if found is None:
            try:
                kind = (
                    result_type(rule.function, operand_types(operands)) if rule.function else operands[1].type
                )
            except TypeError as error:
                raise self.refusal(
                    str(error), "Use functions and types that Numba supports for scalars."
                ) from None
            if isinstance(kind, types.Complex):
                raise self.refusal("complex numbers are not supported", "Compute with two floats.")
            found = Value(self.name(base), kind, self.block)
            if rule is BINARY["Div"] and _is_root(operands[1]):
                rule = DIVIDE_BY_ROOT
            self._append(found, Op(self.where, found, rule, operands))
            self.block.known[key] = found
        return found

    def binary(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        """Append a binary operator, by the name of its class in `ast`."""
        unchanged = isinstance(y, Constant) and y.value == 0 and x.type == y.type == types.int64
        if unchanged and name in ("Add", "Sub"):
            return x
        return self.op(BINARY[name], [x, y])

    def dim(self, array: Array, axis: int) -> Scalar:
        """Return the size of an array along `axis`."""
        if not array.dims:
            array.dims = [None] * array.type.ndim
        if array.dims[axis] is None:
            key = ("dim", id(array), axis)
            found = self._find(key)
            if found is None:
                found = Value(self.name(f"{array.name}_size"), types.int64, self.block)
                self._append(found, Dim(self.where, found, array, axis))
                self.block.known[key] = found
            return found
        return array.dims[axis]

    def load(self, array: Array, indices: list[Scalar]) -> Scalar:
        """Append the read of an element."""
        self.check_origin(array)
        key = self._load_key(array, indices)
        found = self._find(key)
        if found is None:
            found = Value(self.name(array.name), array.type.dtype, self.block)
            self._append(found, Load(self.where, found, array, indices))
            self.block.known[key] = found
        return found

    def _load_key(self, array: Array, indices: list[Scalar]) -> tuple[Any, ...]:
        return "load", id(array), array.root.epoch, self._epoch, *[_key(x) for x in indices]

    def unchanged_reads(self) -> list[Load]:
        """Return the reads of elements so far that would find the same again."""
        found: list[Load] = []
        block: Block | None = self.block
        while block is not None:
            reads = [one.statement for key, one in block.known.items() if key[0] == "load"]
            found += [s for s in reads if block.known.get(self._load_key(s.array, s.indices)) is s.result]
            block = block.parent
        return found

    def repeat_reads(self, block: Block, reads: list[Load]) -> None:
        """Let a block begin with reads from before the branch, whatever the other side has written."""
        block.known.update({self._load_key(s.array, s.indices): s.result for s in reads})

    def check_origin(self, array: Array) -> None:
        """Refuse to read an array that a loop or branch rebinds if one that it can be was written meanwhile."""
        if any(root.epoch != epoch for root, epoch in array.root.origins):
            raise self.refusal(
                f"{array.root.reason} {_shown(array)}, and the array from before is written after it",
                "Copy the array before, as in `u = u.copy()`.",
            )

    def store(self, array: Array, indices: list[Scalar], value: Scalar, sign: str = "") -> None:
        """Append the write or the update of an element."""
        if not array.type.mutable:
            raise self.refusal(
                f"the array {_shown(array)} is read-only", "Pass a writable array or write to a copy."
            )
        if array.root.origins:
            raise self.refusal(
                f"{array.root.reason} {_shown(array)}, and this may write the array from before it",
                "Write to a copy, as in `u = u.copy()`.",
            )
        if not isinstance(array.type.dtype, types.Float) and is_float(value.type):
            value_kind = f"a float is stored in an array of {array.type.dtype}"
            raise self.refusal(value_kind, "Use a float array, or int(...) if no gradient shall flow.")
        array.root.epoch += 1
        self.block.statements.append(Store(self.where, array, indices, value, sign))

    def alloc(
        self, base: str, dtype: Any, dims: list[Scalar], function: str = "new_empty", layout: str = "C"
    ) -> Array:
        """Append a new array: a call of ``new_empty``, ``new_zeros`` or ``np.ones``.

        Its memory is in C order, or in the order of Fortran if `layout` is ``"F"``.
        """
        if not dims:
            raise self.refusal("arrays without dimensions are not supported", "Use the number.")
        kind = types.Array(dtype, len(dims), "F" if layout == "F" else "C")
        text = new_array_text(function, [f"{{{i}}}" for i in range(len(dims))], kind)
        root = Root(self.name(base), dtype, self.block)
        array = Array(root.name, kind, root, self.block, None, list(dims))
        self._append(array, Alloc(self.where, array, text, list(dims)))
        return array

    def passive_array(self, template: str, operands: list[Any], dtype: Any, dims: list[Scalar]) -> Array:
        """Append a new array in C order whose elements have no derivative."""
        for x in operands:
            if isinstance(x, Array):
                self.check_origin(x)
        root = Root(self.name("passive"), dtype, self.block)
        array = Array(root.name, types.Array(dtype, len(dims), "C"), root, self.block, None, list(dims))
        self._append(array, Alloc(self.where, array, template, operands))
        return array

    def global_array(self, name: str, value: Any) -> Array:
        """Return an array that the module of the generated code has."""
        key = ("global", name)
        if key not in self.top.known:
            dims: list[Scalar] = [constant(size) for size in value.shape]
            dtype = from_dtype(value.dtype)
            self.top.known[key] = self.inside(self.top, lambda: self.passive_array(name, [], dtype, dims))
            self.top.known[key].type = types.Array(dtype, value.ndim, "C", readonly=True)
        return self.top.known[key]

    def table(self, items: tuple[Any, ...]) -> Array:
        """Return an array of numbers; it is filled in the outermost block that knows all of them."""
        key = ("table", *[_key(x) for x in items])
        found = self._find(key)
        if found is None:
            own = self.block
            while own.parent is not None and not any(getattr(x, "block", None) is own for x in items):
                own = own.parent
            kind = reduce(lambda one, other: unified(one, other) or one, [x.type for x in items])
            found = self.inside(own, lambda: self.alloc("table", kind, [constant(len(items))]))
            for position, item in enumerate(items):
                self.inside(own, partial(self.store, found, [constant(position)], item))
            own.known[key] = found
        return found

    def apply(self, rule: Any, function: Any, operands: list[Any], base: str) -> Any:
        """Append a call of a function of arrays with a rule; return its result."""
        for x in operands:
            if isinstance(x, Array):
                self.check_origin(x)
        try:
            kind = types.unliteral(result_type(function, [x.type for x in operands]))
        except TypeError as error:
            raise self.refusal(str(error), "Pass arguments that Numba supports.") from None
        result: Any
        if isinstance(kind, types.Array) and is_float(kind.dtype) and kind.ndim > 0:
            name = self.name(base)
            result = Array(name, kind, Root(name, kind.dtype, self.block), self.block)
        elif is_float(kind):
            result = Value(self.name(base), kind, self.block)
        else:
            raise self.refusal(f"{base} returns {kind}", "Return a float or an array of floats.")
        self._append(result, Apply(self.where, result, rule, operands))
        return result

    def view(self, base: Array, template: str, operands: list[Any], kind: Any, dims: list[Any]) -> Array:
        """Append a view; ``dims`` has None for sizes that are read when they are needed."""
        key = ("view", id(base), template, *[_key(x) for x in operands])
        found = self._find(key)
        if found is None:
            found = Array(self.name(base.name), kind, base.root, self.block, None, dims)
            self._append(found, View(self.where, found, base, template, operands))
            self.block.known[key] = found
        return found

    def resize(self, array: Array, operands: list[Any]) -> None:
        """Append the growth of a stack."""
        self.block.statements.append(Resize(self.where, array, operands))

    def effect(self, template: str, operands: list[Any]) -> None:
        """Append a statement that is only run for its effect."""
        self.block.statements.append(Effect(self.where, template, operands))

    def require_equal(self, one: Scalar, other: Scalar) -> None:
        """Check two sizes of operands when the code runs, unless they are known to be equal."""
        if one is other or (
            isinstance(one, Constant) and isinstance(other, Constant) and one.value == other.value
        ):
            return
        where = self.where
        line = f"{where.file}:{where.line}: `{where.text.strip()}`".replace("{", "{{").replace("}", "}}")
        message = (
            f"{line}: the sizes of the operands differ. Gradients broadcast only axes that the code makes, as in "
            "x[:, None]; index another axis of size 1 with 0, as in x[:, 0][:, None]"
        )
        self.effect(f"if {{0}} != {{1}}: raise ValueError({message!r})", [one, other])

    def inside(self, block: Block, run: Callable[[], Any]) -> Any:
        """Run `run` with `block` as the current block."""
        outer, self.block = self.block, block
        try:
            return run()
        finally:
            self.block = outer

    def new_block(self) -> Block:
        """Return a block inside the current one."""
        return Block(self.block, self.block.loop)

    def branch(self, condition: Any, then: Block, orelse: Block) -> If:
        """Append a branch."""
        statement = If(self.where, condition, then, orelse)
        then.branch, orelse.branch = (condition, True), (condition, False)
        self.block.statements.append(statement)
        return statement

    def if_phi(self, statement: If, base: str, then: Scalar, orelse: Scalar) -> Scalar | None:
        """Return a variable after a branch; None if no type holds both values."""
        kind = unified(then.type, orelse.type)
        if kind is None:
            return None
        result = Value(self.name(base), kind, self.block, statement)
        statement.phis.append(IfPhi(result, then, orelse))
        return result

    def new_loop(self, bounds: list[Scalar] | None) -> Loop:
        """Return a loop that is not yet appended; reads before it are not those inside it."""
        self._epoch += 1
        loop = Loop(self.where, self.block, bounds=bounds or [])
        loop.body = Block(self.block, loop)
        if bounds is not None:
            loop.counter = Value(self.name("i"), types.int64, loop.body, loop)
        return loop

    def loop_phi(self, loop: Loop, base: str, init: Scalar, kind: Any) -> LoopPhi:
        """Add a carried variable."""
        inner = Value(self.name(base), kind, loop.body, loop)
        phi = LoopPhi(inner, init, Value(self.name(base), kind, loop.outer, loop))
        loop.phis.append(phi)
        return phi

    def close_loop(self, loop: Loop) -> None:
        """Append a finished loop."""
        self._epoch += 1
        if loop.counter is None or loop.stop is not None:
            loop.trips = Value(self.name("trips"), types.int64, loop.outer, loop)
        self.block.statements.append(loop)

    def nest(self, dims: list[Scalar], run: Callable[[list[Scalar]], None]) -> None:
        """Append a loop nest over all indices of an array with these sizes."""
        self.reduce(dims, None, lambda indices, _: run(indices))

    def reduce(
        self,
        dims: list[Scalar],
        carried: Scalar | None,
        step: Callable[[list[Scalar], Any], Any],
        base: str = "sum",
    ) -> Any:
        """Append a loop nest that carries a scalar of the type of `carried`; return the scalar after it."""

        def level(depth: int, indices: list[Scalar], carry: Any) -> Any:
            if depth == len(dims):
                return step(indices, carry)
            loop = self.new_loop([constant(0), dims[depth], constant(1)])
            counter: Any = loop.counter
            phi = None if carry is None else self.loop_phi(loop, base, carry, carry.type)
            inner = None if phi is None else phi.inner
            following = self.inside(loop.body, lambda: level(depth + 1, [*indices, counter], inner))
            if phi is not None:
                phi.next = following
            self.close_loop(loop)
            return None if phi is None else phi.out

        return level(0, [], carried)

    def _append(self, result: Any, statement: Any) -> None:
        result.statement = statement
        self.block.statements.append(statement)

    def _find(self, key: Any) -> Any:
        block: Block | None = self.block
        while block is not None:
            if key in block.known:
                return block.known[key]
            block = block.parent
        return None


def _key(x: Any) -> Any:
    return (repr(x.value), str(x.type)) if isinstance(x, Constant) else id(x)
