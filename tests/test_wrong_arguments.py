"""Each argument of each public function and class made wrong: the result is right, or the error names what is wrong.

`valid_calls.txt` lists one call of each. An error of Python or NumPy that comes through from inside is a defect, and
so is a tape or Variable that is changed by a call that failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import jittape as jt

FROM_INSIDE = re.compile(
    r"not supported between|unsupported operand|is not iterable|bad operand|invalid literal|unhashable|"
    r"real number, not|has no attribute|cannot be interpreted|not callable|could not convert|truth value|"
    r"has no len|division by zero|inhomogeneous|^negative dimensions|could not broadcast|unexpected keyword|"
    r"to unpack|list indices|out of bounds for array|missing \d+ required|not subscriptable|an integer is required"
)
"""Messages of Python and NumPy."""


def generated(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).uniform(0.1, 0.9, shape)


MAKERS: dict[str, Callable[..., Any]] = {
    "F": lambda *shape: generated(*shape).astype("float32"),
    "C": lambda *shape: generated(*shape).astype("complex64"),
    "B": lambda *shape: generated(*shape) > 0.5,
    "I": lambda values: np.array(values, "int32"),
    "spd": lambda n: np.float32(generated(n, n) @ generated(n, n).T + n * np.eye(n)),
}


class ValidCall(NamedTuple):
    """A line of the file: the arguments before and after ``@``; `kind` is what follows it."""

    path: str
    arguments: dict[str, Any]
    kind: str | None
    others: dict[str, Any]


def parsed(text: str) -> dict[str, Any]:
    pairs = (word.partition("=") for word in text.split())
    return {name: eval(value, dict(MAKERS)) for name, _, value in pairs}


def valid_calls() -> Iterator[ValidCall]:
    for line in Path(__file__).with_name("valid_calls.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            head, _, rest = line.partition(" ")
            own, at, after = rest.partition("@")
            kind, _, others = after.partition(" ")
            place, dot, names = head.rpartition(".")
            for name in names.split("|"):
                yield ValidCall(place + dot + name, parsed(own), kind if at else None, parsed(others))


def wrong_values(value: Any) -> list[Any]:
    """Return values that are wrong in place of `value`, or at least unusual."""
    if isinstance(value, np.ndarray):
        return [
            value[None], None, value.reshape(-1)[:1].reshape(()), value[:0], "abc", value[..., :1],
            [[1.0, 2.0], [3.0]], value.astype("complex64"), value.astype(bool), object,
            np.full_like(value, np.nan if value.dtype.kind == "f" else 9),
        ]  # fmt: skip
    if isinstance(value, (bool, str)):
        return ["abc", 3, None, ["a"]]
    if isinstance(value, (int, float)):
        return [-100, None, "abc", 1.5, [1, 2], float("nan"), 0, np.float32([1, 2])]
    return [
        value + value[:1],
        value[:-1],
        1,
        [],
        "abc",
        None,
        [-7, *value[1:]],
        ["a", *value[1:]],
        [None, *value[1:]],
    ]


def found(path: str) -> Any:
    place: Any = jt
    for name in path.split("."):
        place = getattr(place, name)
    return place


def done(call: ValidCall, arguments: dict[str, Any], others: dict[str, Any]) -> Any:
    function = found(call.path) if call.kind != "data" else None
    if call.kind is None:
        return function(**arguments)
    if call.kind == "data":
        data = jt.data.Dataset.from_tensor_slices(np.float32([3, 1, 2, 5])).batch(2)
        return list(getattr(data, call.path.rpartition(".")[2])(**others).take(9))
    made: Any = function(**arguments)
    if call.kind == "step":
        variable = jt.Variable(np.ones((4, 3), "float32"))
        return made.apply_gradients([(jt.constant(others["grad"]), variable)])
    if call.kind:
        return getattr(made, call.kind)(**others)
    (_, first), *rest = others.items()
    return made(first, **dict(rest))


def computed(result: Any) -> None:
    for part in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(part, jt.Tensor):
            part.numpy()


W = jt.Variable([1.0, 2.0])


def on_a_tape(action: Callable[[], Any]) -> None:
    with jt.GradientTape() as tape:
        z = W * 3.0
        try:
            computed(action())
        finally:
            total = jt.reduce_sum(z * z)
            assert tape.gradient(total, W).numpy().tolist() == [18.0, 36.0]
            assert W.numpy().tolist() == [1.0, 2.0]


MODES: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "alone": lambda action: computed(action()),
    "tape": on_a_tape,
    "function": lambda action: computed(jt.function(action)()),
}


def complaint(name: str, action: Callable[[], Any], mode: str) -> str | None:
    """Return what is wrong with the outcome of a call; None if nothing is."""
    try:
        MODES[mode](action)
    except AssertionError as error:
        return f"{name}: the tape is damaged: {error}"
    except Exception as error:
        if FROM_INSIDE.search(str(error)) or isinstance(error, (AttributeError, KeyError, UnboundLocalError)):
            return f"{name}: {type(error).__name__}: {error}"
    return None


CALLS = list(valid_calls())
PARTS = 6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_errors_name_what_is_wrong(part):
    complaints = []
    turn = count(part)
    for call in CALLS[part::PARTS]:
        for given in (call.arguments, call.others):
            for name, value in given.items():
                number = next(turn)
                wrong = wrong_values(value)
                chosen = wrong[number % len(wrong)]
                replaced = {**given, name: chosen}
                own, others = (
                    (replaced, call.others) if given is call.arguments else (call.arguments, replaced)
                )
                mode = list(MODES)[number % 9 % 3] if call.kind is None and number % 3 == 0 else "alone"
                text = f"{call.path}, {name}={chosen!r}, {mode}"
                complaints.append(
                    complaint(text, lambda own=own, others=others, call=call: done(call, own, others), mode)
                )
    assert [text for text in complaints if text] == []


@pytest.mark.filterwarnings("ignore")
def test_the_calls_are_valid():
    for call in CALLS:
        computed(done(call, call.arguments, call.others))
