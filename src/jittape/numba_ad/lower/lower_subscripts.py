"""Subscripts of arrays in structured form: elements, views, arrays of ints and masks."""

from __future__ import annotations

import ast
import operator
from typing import Any, cast

from numba import types

from jittape.numba_ad.lower.advanced_indexing import Mask, Places, selection
from jittape.numba_ad.lower.build_ir import constant
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.numba_types import result_type
from jittape.numba_ad.lower.whole_arrays import Lazy
from jittape.numba_ad.scalar_rules import BINARY
from jittape.numba_ad.structured_ir import Array, Constant, Loop, Op, Value

__all__ = ["subscript", "tuple_item"]


def subscript(
    lowering: Any, node: ast.Subscript, base: Array
) -> tuple[Array, list[Any] | Places | Mask | None]:
    """Return an array and the indices of one element, a view and None, or what an array as index selects."""
    parts = _parts(lowering, node, base)
    arrays = [position for position, part in enumerate(parts) if isinstance(part, (Array, Lazy))]
    if not arrays:
        return _element_or_view(lowering, node, base, parts)
    if len(arrays) > 1:
        raise lowering.refusal(node, "only one array can be an index", "Write a loop over the elements.")
    position = arrays[0]
    index = parts[position]
    around = [part for part in parts if part is not None]
    ints = [not isinstance(part, (ast.Slice, Array, Lazy)) for part in parts]
    if None in parts or (any(ints) and any(isinstance(part, ast.Slice) for part in parts)):
        raise lowering.refusal(
            node, "an array as index is mixed with ints and slices", "Take the view first, then its elements."
        )
    view = base
    if len(around) > 1:
        whole = ast.copy_location(ast.Slice(), node)
        view, _ = _element_or_view(lowering, node, base, [whole if part is index else part for part in parts])
    axis = sum(not is_int for is_int in ints[:position])
    return view, selection(lowering.builder, view, axis, index, len(parts))


def tuple_item(lowering: Any, node: ast.Subscript, base: tuple[Any, ...]) -> Any:
    """Return the item of a tuple at an index, or a tuple of those in a slice."""
    index: Any = lowering.expression(node.slice) if not isinstance(node.slice, ast.Slice) else None
    if isinstance(node.slice, ast.Slice):
        bounds: list[Any] = [
            None if part is None else getattr(lowering.expression(part), "value", "")
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        if not any(isinstance(bound, str) for bound in bounds):
            return base[slice(*bounds)]
    elif isinstance(index, Constant) and -len(base) <= index.value < len(base):
        return base[index.value]
    elif isinstance(index, (Value, Constant)) and isinstance(index.type, types.Integer):
        return _item_at(lowering, node, base, index)
    raise lowering.refusal(node, "a tuple needs an int as the index", "Use an array, or name the items.")


def _item_at(lowering: Any, node: ast.Subscript, items: tuple[Any, ...], index: Value | Constant) -> Any:
    """Return the item of a tuple at a place that is computed: of numbers only, which a small array holds."""
    if isinstance(index, Constant) or not items or not all(isinstance(x, (Value, Constant)) for x in items):
        refusal = lowering.refusal(
            node, "a tuple of arrays needs a constant index", "Write `for item in items`, or use an array."
        )
        refusal.index = index
        raise refusal
    builder, count = lowering.builder, len(items)
    if not _is_remainder(index, count):
        message = f"raise IndexError('{lowering.frame.source.function.__name__}: tuple index out of range')"
        builder.effect(f"if not -{count} <= {{0}} < {count}: {message}", [index])
    return builder.load(builder.table(items), [index])


def _is_remainder(index: Value | Constant, count: int) -> bool:
    """Return whether a number is known to be an index of `count` items: a remainder, or the counter of a loop."""
    statement = getattr(index, "statement", None)
    if isinstance(statement, Loop) and statement.counter is index:
        first, stop, step = (cast(Any, getattr(bound, "value", None)) for bound in statement.bounds)
        return None not in (first, stop, step) and all(
            0 <= k < count for k in (range(first, stop, step) or (0,))
        )
    if isinstance(statement, Op) and statement.rule is BINARY["Mod"]:
        divisor = getattr(statement.operands[1], "value", None)
        return divisor is not None and 0 < divisor <= count
    return False


def _parts(lowering: Any, node: ast.Subscript, base: Array) -> list[Any]:
    """Return the parts of an index: slices, numbers, arrays and None, without ``...``."""
    found: list[Any] = []
    dots: list[int] = []
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if isinstance(part, ast.Slice):
            found.append(part)
            continue
        index = lowering.expression(part)
        if isinstance(index, PythonObject) and index.value is Ellipsis:
            dots.append(len(found))
        elif isinstance(index, PythonObject) and index.value is None:
            found.append(None)
        elif isinstance(index, (Array, Lazy)):
            found.append(index)
        else:
            for one in index if isinstance(index, tuple) else (index,):
                if not isinstance(one, (Value, Constant)) or not isinstance(one.type, types.Integer):
                    raise lowering.refusal(
                        node, "an index must be an int or a slice", "Write a loop over the elements."
                    )
                found.append(one)
    missing = base.type.ndim - sum(part is not None for part in found)
    if missing < 0:
        raise lowering.refusal(
            node, f"too many indices for an array with {base.type.ndim} dimensions", "Remove some."
        )
    if len(dots) > 1:
        raise lowering.refusal(node, "an index has several ellipses", "Use one.")
    whole = ast.copy_location(ast.Slice(), node)
    for place in dots:
        found[place:place] = [whole] * missing
    return found


def _element_or_view(
    lowering: Any, node: ast.Subscript, base: Array, parts: list[Any]
) -> tuple[Array, list[Any] | None]:
    """Return an array and the indices of one element, or a view and None."""
    texts: list[str] = []
    operands: list[Any] = []
    kinds: list[Any] = []
    dims: list[Any] = []
    axis = 0
    for part in parts:
        if part is None:
            texts.append("None")
            kinds.append(types.none)
            dims.append(constant(1))
            continue
        if isinstance(part, ast.Slice):
            text, kind = _slice(lowering, part, operands)
            whole = part.lower is None and part.upper is None and part.step is None
            dims.append(base.dims[axis] if whole and base.dims else None)
            texts.append(text)
            kinds.append(kind)
        else:
            texts.append(f"{{{len(operands)}}}")
            operands.append(part)
            kinds.append(part.type)
        axis += 1
    if len(kinds) == base.type.ndim and all(isinstance(kind, types.Integer) for kind in kinds):
        return base, operands
    index_type = types.Tuple(kinds) if len(kinds) > 1 else kinds[0]
    try:
        kind = result_type(operator.getitem, [base.type, index_type])
    except TypeError as error:
        raise lowering.refusal(node, str(error)) from None
    rest = [base.dims[i] if base.dims else None for i in range(axis, base.type.ndim)]
    return lowering.builder.view(base, f"[{', '.join(texts)}]", operands, kind, dims + rest), None


def _slice(lowering: Any, part: ast.Slice, operands: list[Any]) -> tuple[str, Any]:
    texts = []
    for bound in (part.lower, part.upper, part.step):
        value = None if bound is None else lowering.expression(bound)
        if value is None or (isinstance(value, PythonObject) and value.value is None):
            texts.append("")
            continue
        if not isinstance(getattr(value, "type", None), types.Integer):
            raise lowering.refusal(bound, "the bounds of a slice must be ints", "Convert them with int(...).")
        texts.append(f"{{{len(operands)}}}")
        operands.append(value)
    kind = types.slice2_type if part.step is None else types.slice3_type
    return ":".join(texts if part.step is not None else texts[:2]), kind
