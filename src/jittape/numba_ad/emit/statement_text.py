"""Python text of statements that contain no others."""

from __future__ import annotations

from typing import Any

from jittape.numba_ad.lower.numba_types import new_array_text
from jittape.numba_ad.structured_ir import Alloc, Apply, Dim, Effect, Load, Op, Resize, Statement, Store, View

__all__ = [
    "element", "index_text", "most_text", "range_text", "resize_text", "text_of", "zeros_like_text", "zeros_text",
]  # fmt: skip


def text_of(statement: Statement) -> str:
    """Return the text of what a statement computes or does."""
    if isinstance(statement, Dim):
        return f"{statement.array.name}.shape[{statement.axis}]"
    if isinstance(statement, Load):
        if statement.guard is None:
            return element(statement)
        kind = str(statement.result.type)
        zero = "0.0" if kind == "float64" else f"np.{kind}(0)"
        return f"{element(statement)} if {statement.guard.name} else {zero}"
    if isinstance(statement, View):
        return statement.base.name + index_text(statement)
    assert isinstance(statement, (Op, Alloc, Apply, Effect))
    template: str = statement.rule.template if isinstance(statement, (Op, Apply)) else statement.template
    return template.format(*[x.name for x in statement.operands])


def element(statement: Load | Store, suffix: str = "") -> str:
    """Return the text of the element that a statement accesses, or that of its shadow."""
    return f"{statement.array.name}{suffix}[{', '.join(x.name for x in statement.indices)}]"


def range_text(bounds: list[Any]) -> str:
    """Return the range of a loop; without step 1, which takes Numba longer to compile."""
    start, stop, step = [x.name for x in bounds]
    if step != "1" or any(str(x.type) != "int64" for x in bounds):
        return f"range({start}, {stop}, {step})"
    return f"range({stop})" if start == "0" else f"range({start}, {stop})"


def zeros_text(statement: Alloc) -> str:
    """Return the text of zeros with the shape of a new array."""
    return new_array_text("new_zeros", [x.name for x in statement.operands], statement.result.type)


def zeros_like_text(name: str, kind: Any) -> str:
    """Return the text of zeros with the shape of an array and the order of its Numba type."""
    if kind.layout == "F" and kind.ndim > 1:
        return f"new_zeros({name}.shape[::-1], np.{kind.dtype}).T"
    return f"new_zeros({name}.shape, np.{kind.dtype})"


def resize_text(statement: Resize, suffix: str = "") -> str:
    """Return the text that enlarges a stack if needed, or, with a suffix, its shadow."""
    name = statement.array.name + suffix
    return f"{name} = reserve({name}, {', '.join(x.name for x in statement.operands)})"


def most_text(statement: Alloc | Resize) -> str:
    """Return the name of the largest size of a stack; the shadow of the stack gets that size."""
    array = statement.result if isinstance(statement, Alloc) else statement.array
    return f"{array.root.name}_most"


def index_text(view: View) -> str:
    """Return the text that follows the name of the base, or that of its shadow."""
    return view.template.format(*[x.name for x in view.operands])
