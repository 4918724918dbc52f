"""The function that the user has called, for messages, and conversion of arguments to plain Python values.

Functions call other functions: `relu` calls `maximum`, `clip_by_value` calls `minimum`. An error is found in the inner
function, but its message should name the outer one. The running stack contains its name, and is read only for errors.
"""

from __future__ import annotations

import operator
import os
import re
import sys
from functools import lru_cache
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from jittape.errors import ControlFlowError, DTypeError

__all__ = [
    "ValueNeeded",
    "VariableNeeded",
    "argument_in_namespace",
    "argument_of_user",
    "as_array",
    "as_flag",
    "as_float",
    "as_function",
    "as_int",
    "called_and_user",
    "called_name",
    "file_shown",
    "frame_of_user",
    "function_name",
    "is_of_user",
    "name_called_in",
    "named",
    "numpy_call",
    "refuse_deferred",
    "refuse_masked",
    "remedy_without_values",
    "require_ints",
    "shown",
    "stack_level",
    "ufunc_name",
    "way_to_numbers",
]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEMO = _PACKAGE + "demo" + os.sep
_LABEL = r"^\[[^\]]*\] "
_OPERATORS = {
    "and": "bitwise_and",
    "array": "numpy",
    "eq": "equal",
    "floordiv": "floor_divide",
    "ge": "greater_equal",
    "gt": "greater",
    "iadd": "assign_add",
    "imul": "assign",
    "isub": "assign_sub",
    "itruediv": "assign",
    "le": "less_equal",
    "lshift": "left_shift",
    "lt": "less",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "or": "bitwise_or",
    "pos": "positive",
    "rshift": "right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}
"""Special methods whose names differ from those of the functions."""
_RUNS_FUNCTION = "call_python"
"""Name of the function that runs what a `jt.function` wraps."""
_OF_CLASS = ("__init__", "__call__", "call", "update_state")
"""Methods for which messages name the class: a layer, a loss or a metric."""
_NAMESPACES = ("jittape.numpy_api.", "jittape.scipy.")
"""Modules whose functions have NumPy's and SciPy's names of arguments."""


# ---- who has called --------------------------------------------------------------------------------------------------


def is_of_user(frame: FrameType) -> bool:
    """Return whether `frame` belongs to the user's code; the demo counts as such."""
    return _is_file_of_user(frame.f_code.co_filename)


def frame_of_user(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the user's from `frame` on, or None."""
    while frame is not None and not _is_file_of_user(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def file_shown(file: str) -> str:
    """Return the name of a source file in messages; for a cell of a notebook its number, as in ``cell In[5]``."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    found = None if shell is None else shell.compile.format_code_name(file)
    return file if found is None else f"{found[0].lower()} {found[1]}"


@lru_cache(maxsize=4096)
def _is_file_of_user(file: str) -> bool:
    return not file.startswith(_PACKAGE) or file.startswith(_DEMO)


@lru_cache(maxsize=4096)
def _is_public(name: str) -> bool:
    return name.startswith("__") or not name.startswith(("_", "<"))


def called_and_user(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """Return the frame of the public function of jittape that the user's line has called, and that of this line.

    The function that a `jt.function` runs may be one of jittape's: the user has called it.
    """
    called, runs_function = None, False
    while frame is not None and not _is_file_of_user(frame.f_code.co_filename):
        name = frame.f_code.co_name
        runs_function = runs_function or name == _RUNS_FUNCTION
        is_outer = name != "__call__" or called is None or called.f_code.co_name == "convert_to_tensor"
        if is_outer and _is_public(name) and not runs_function:
            called = frame
        frame = frame.f_back
    return called, frame


def ufunc_name(ufunc: np.ufunc) -> str:
    """Return the dotted name of a ufunc of NumPy or of `scipy.special`."""
    name: str = ufunc.__name__
    return f"np.{name}" if getattr(np, name, None) is ufunc else f"scipy.special.{name}"


def numpy_call(frame: FrameType) -> str | None:
    """Return the function of NumPy that called one of the protocol's methods in `frame`; None for other frames."""
    name = frame.f_code.co_name
    if name in ("__array_ufunc__", "array_ufunc"):
        return ufunc_name(frame.f_locals["ufunc"])
    if name in ("__array_function__", "array_function"):
        func = frame.f_locals["func"]
        module = func.__module__.replace("numpy", "np", 1)
        return f"{'np' if '._' in module else module}.{func.__name__}"
    return None


def name_called_in(frame: FrameType | None) -> str:
    """Return the name that messages have for the function of a frame; empty if there is none."""
    if frame is None:
        return ""
    name = frame.f_code.co_name
    if name in _OF_CLASS and "self" in frame.f_locals:
        owner = frame.f_locals["self"]
        return getattr(owner, "_name_in_messages", type(owner).__name__)
    if (called := numpy_call(frame)) is not None:
        return called
    if not name.startswith("__"):
        return name.rstrip("_")
    bare = name.strip("_")
    reflected = bare[1:] if bare[:1] == "r" and bare not in ("rshift", "round") else bare
    return _OPERATORS.get(reflected, reflected)


def called_name() -> str:
    """Return the name of the function of jittape that the user's line has called; empty if there is none."""
    return name_called_in(called_and_user(sys._getframe(1))[0])


def argument_of_user(value: Any) -> str:
    """Return the name of the argument that the user gave as `value`, followed by a colon; empty if it is unknown."""
    frame, _ = called_and_user(sys._getframe(1))
    if frame is None or frame.f_code.co_name.startswith("__array"):
        return ""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found = [name for name in names if name != "name" and frame.f_locals.get(name) is value]
    return f"{found[0]}: " if found and found[0] != "self" else ""


def argument_in_namespace(argument: str, shape: tuple[int, ...]) -> str:
    """Return the name of an argument in messages, as NumPy or SciPy has it if the user called one of their functions.

    The argument is the only one of its shape in the outermost call of such a function.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_of_user(frame) and frame.f_code.co_name != _RUNS_FUNCTION:
        if frame.f_globals["__name__"].startswith(_NAMESPACES):
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            found = [n for n in names if _shape_of(frame.f_locals.get(n)) == shape]
            argument = found[0] if len(found) == 1 else argument
        frame = frame.f_back
    return argument


def _shape_of(value: Any) -> Any:
    """Return the shape of an array, a tensor, a number or a list; None for other values."""
    try:
        return np.shape(value) if isinstance(value, (int, float, complex, list)) else value.shape
    except (AttributeError, ValueError):
        return None


Error = TypeVar("Error", bound=Exception)


def named(error: Error, name: str | None = None) -> Error:
    """Return `error` with a message that starts with `name`, the function that the user has called by default."""
    name = called_name() if name is None else name
    if name and len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"[{name}] {re.sub(_LABEL, '', error.args[0])}",)
    return error


def stack_level() -> int:
    """Return the `stacklevel` for a warning of the caller that points to the user's line."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and not is_of_user(frame):
        frame = frame.f_back
        level += 1
    return level


class VariableNeeded(BaseException):
    """The signal that a traced function needs the Variable that was passed, not one of the same kind."""


class ValueNeeded(BaseException):
    """The signal that a traced function needs a value. It is no `Exception`, so handlers do not catch it.

    Attributes
    ----------
    action : str
        Name of the called conversion: ``bool``, ``float``, ``numpy``, ...
    of : str
        Description of the value.
    line : SourceLine or None
    remedy : str
        Advice on the code to write instead.
    """

    def __init__(self, action: str, of: str, line: Any, remedy: str) -> None:
        super().__init__(action)
        self.remedy = remedy
        self.action = action
        self.of = of
        self.line = line


_SHAPE_DEPENDS_ON_VALUES = frozenset(
    (
        *(
            "argwhere",
            "boolean_mask",
            "compress",
            "extract",
            "flatnonzero",
            "getitem",
            "intersect1d",
            "nonzero",
        ),
        *("setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique", "unique_all", "unique_counts"),
        *("unique_inverse", "unique_values", "unique_with_counts", "where"),
    )
)


def remedy_without_values(action: str) -> str:
    """Return advice on what to write in place of the call `action` where tensors have no values."""
    if action.rpartition(".")[2] in _SHAPE_DEPENDS_ON_VALUES:
        return (
            "give the result a shape that does not depend on values: jt.where(mask, x, 0) in place of x[mask]"
        )
    return "use jt.where, jt.cond, jt.while_loop or jt.scan there, or return the tensor"


# ---- arguments that are plain values ---------------------------------------------------------------------------------


def as_int(argument: str, value: Any) -> int:
    """Return `value`, given as `argument`, as a Python int; an extent as it is.

    Raises
    ------
    TypeError
        If it is not an int. The message names the function that the user has called.
    """
    try:
        as_extent = getattr(value, "_as_extent", None)
        return operator.index(value) if as_extent is None else as_extent()
    except TypeError:
        raise named(TypeError(f"{argument} must be an int, got {shown(value)}")) from None


def require_ints(argument: str, value: Any) -> None:
    """Raise `TypeError` if a value, or one of a tuple, is None, a text or a float in place of an int."""
    if any(
        x is None or isinstance(x, (str, float, tuple))
        for x in (value if isinstance(value, tuple) else (value,))
    ):
        raise named(TypeError(f"{argument} must be an int or a sequence of ints, got {shown(value)}"))


def as_float(argument: str, value: Any) -> float:
    """Return `value`, given as `argument`, as a Python float."""
    try:
        if isinstance(value, str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise named(TypeError(f"{argument} must be a number, got {shown(value)}")) from None


def as_array(argument: str, value: Any, remedy: str = "") -> np.ndarray[Any, Any]:
    """Return `value`, given as `argument`, as an ndarray of numbers; pending ops run.

    In a traced function, or in the body of a loop or a branch, the value is unknown. `remedy` then ends the message.

    Raises
    ------
    TypeError
        If it contains anything other than numbers.
    ValueError
        If its parts have different shapes.
    """
    try:
        refuse_deferred(value)
        refuse_masked(value)
        array = np.asarray(value)
    except TypeError as error:
        raise named(TypeError(f"{argument}: {error}")) from None
    except ControlFlowError as error:
        error.args = (f"{error}; or {remedy}",) if remedy else error.args
        raise
    except ValueNeeded as signal:
        signal.remedy = remedy or signal.remedy
        raise
    except ValueError:
        raise named(
            ValueError(
                f"{argument}: the parts of {shown(value)} have different shapes; pad them to the same one"
            )
        ) from None
    if array.dtype.kind not in "biufc" and array.dtype.type.__module__ != "ml_dtypes":
        found = shown(value)
        if isinstance(value, (np.ndarray, np.generic)):
            found = f"an array of dtype {array.dtype}; {way_to_numbers(array.dtype)}"
        raise named(
            TypeError(f"{argument} must be a tensor, an array or nested lists of numbers, got {found}")
        )
    return array


def way_to_numbers(dtype: np.dtype[Any]) -> str:
    """Return how an array x of a dtype that has no numbers is converted, for a message."""
    if dtype.names:
        return f"take a field, such as x[{dtype.names[0]!r}]"
    ways = {"M": "use (x - x[0]) / np.timedelta64(1, 's')", "m": "use x / np.timedelta64(1, 's')"}
    return ways.get(dtype.kind, "give one of a numeric dtype, such as x.astype(float)")


def refuse_deferred(value: Any) -> None:
    """Raise `TypeError` for a Dask collection, which a conversion would compute as a whole.

    xarray's objects have Dask's methods too, and return None if they hold no blocks.
    """
    if hasattr(type(value), "__dask_graph__") and value.__dask_graph__() is not None:
        kind = f"{type(value).__module__}.{type(value).__name__}"
        raise TypeError(
            f"Cannot convert a {kind} to a tensor, as that would compute all of its blocks: give one block at a time, "
            "or all of it with compute()"
        )


def refuse_masked(value: Any) -> None:
    """Raise `DTypeError` for a masked array with masked elements, which a conversion would show as numbers."""
    if (
        isinstance(value, np.ndarray)
        and type(value) is not np.ndarray
        and isinstance(value, np.ma.MaskedArray)
        and np.ma.is_masked(value)
    ):
        raise DTypeError(
            "Cannot convert a masked array to a tensor, which has no mask: give x.filled(number), or x.data and choose "
            "with jt.where(x.mask, ...)"
        )


def as_function(argument: str, value: Any) -> Any:
    """Return `value`, given as `argument`, after checking that it is callable."""
    if not callable(value):
        raise named(TypeError(f"{argument} must be a function, got {shown(value)}"))
    return value


def as_flag(argument: str, value: Any) -> bool:
    """Return `value`, given as `argument`, as True or False."""
    try:
        if isinstance(value, str):
            raise ValueError
        return bool(value)
    except ValueError:
        raise named(TypeError(f"{argument} must be True or False, got {shown(value)}")) from None


def shown(value: Any) -> str:
    """Return the `repr` of `value`, shortened for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def function_name(f: Any) -> str:
    """Return the name of a function in messages."""
    return getattr(f, "__name__", repr(f))
