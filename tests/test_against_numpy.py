"""Every public function against NumPy: dtypes, empty and 0-d arrays, ties, signed zeros, infinities, bad arguments.

See `numpy_rows`. Where NumPy raises, jittape raises; where
they differ on purpose, the row says why, and a deviation that no case meets any more is an error too.
"""

from __future__ import annotations

import re
import types
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jittape as jt
import numpy_table
import numpy_table_algebra
import numpy_table_analysis
import numpy_table_blocks
import numpy_table_convolutions
import numpy_table_functions
import numpy_table_gamma
import numpy_table_histograms
import numpy_table_linalg
import numpy_table_networks
import numpy_table_picking
import numpy_table_protocol
import numpy_table_protocol_shape
import numpy_table_reduce
import numpy_table_segments
import numpy_table_shape
import numpy_table_solves
import numpy_table_spectra
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_protocol import UFUNCS, VALUE_FUNCTIONS
from jittape.numpy_api.numpy_support import READS_VALUES
from jittape.numpy_api.numpy_ufunc_methods import REDUCTIONS
from numpy_rows import Deviation, Row
from numpy_samples import edges

TABLES = (
    numpy_table,
    numpy_table_reduce,
    numpy_table_shape,
    numpy_table_algebra,
    numpy_table_linalg,
    numpy_table_networks,
    numpy_table_picking,
    numpy_table_segments,
    numpy_table_blocks,
    numpy_table_convolutions,
    numpy_table_histograms,
    numpy_table_protocol,
    numpy_table_protocol_shape,
    numpy_table_functions,
    numpy_table_analysis,
    numpy_table_spectra,
    numpy_table_solves,
    numpy_table_gamma,
)
ROWS = [row for table in TABLES for row in table.ROWS]
ROWS += numpy_table.rows_of_primitives({row.call for row in ROWS})
ERRORS = (TypeError, ValueError, IndexError, OverflowError)
NAMED = re.compile(r"\[|np\.|.*(argument|at least one array|did not return an iterable|0-d tensor|must be)")
"""How messages begin: with the function's name. Python checks the number of arguments, NumPy that a sequence is one."""


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    """By NumPy: that machine code gives the same is tested elsewhere, and below."""
    before = jt.config.interpret
    jt.config.interpret = True
    yield
    jt.config.interpret = before


def tensors(value: Any) -> Any:
    """`value` with its arrays as tensors."""
    if isinstance(value, np.ndarray):
        return jt.constant(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)([tensors(v) for v in value])
    return value


def outcome(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives, as an array or a list of arrays; or the error that it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*args, **kwargs)
            several = isinstance(result, (list, tuple))
            return [np.asarray(r) for r in result] if several else np.asarray(result)
    except Exception as error:
        return error


def difference(row: Row, found: Any, wanted: Any) -> str | None:
    """How two outcomes differ; None if they do not."""
    if isinstance(wanted, Exception):
        if not isinstance(found, Exception):
            return f"is taken; NumPy raises {wanted!r}"
        named = NAMED.match(str(found)) or str(found) == str(wanted)
        if not isinstance(found, ERRORS) or not named:
            return f"raises without a name: {found!r}"
        return None
    if isinstance(found, Exception):
        return f"raises {found!r}"
    if isinstance(wanted, list) or isinstance(found, list):
        if not (isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found)):
            return "differs in structure"
        return next((d for pair in zip(found, wanted, strict=True) if (d := difference(row, *pair))), None)
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"gives {found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    wrong = np.argwhere(~np.atleast_1d(equal(row, found, wanted)))
    if len(wrong):
        place = tuple(wrong[0])
        values = (np.atleast_1d(a)[place] for a in (found, wanted))
        return "gives {!r}, not {!r}, at {}, and {} more".format(*values, place, len(wrong) - 1)
    return None


def equal(row: Row, found: Any, wanted: Any) -> Any:
    """Where two arrays are equal, up to rounding, with the signs of zeros."""
    if wanted.dtype.kind not in "fc":
        return found == wanted
    with np.errstate(all="ignore"):
        if wanted.dtype.kind == "c":
            size = np.abs(wanted).astype(np.float64)
            parts = [
                equal(row, f, w) | (abs(f - w) <= row.rtol * np.finfo(w.dtype).eps * size)
                for f, w in ((found.real, wanted.real), (found.imag, wanted.imag))
            ]
            return (
                (parts[0] & parts[1])
                | (np.isnan(found) & np.isnan(wanted))
                | (np.isinf(found) & np.isinf(wanted))
            )
        near = np.isclose(found, wanted, row.rtol * np.finfo(wanted.dtype).eps, 0, equal_nan=True)
        tiny = abs(found.astype(np.float64) - wanted) <= 2 * np.finfo(wanted.dtype).smallest_subnormal
        same_sign = (np.signbit(found) == np.signbit(wanted)) | (wanted != 0) | (found != 0)
        return (near | tiny) & (same_sign | (not row.signed_zeros))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_gives_and_raises_what_numpy_does(row: Row) -> None:
    met: set[Deviation] = set()
    wrong = []
    for args, kwargs in row.cases():
        wanted = outcome(row.reference, args, kwargs)
        found = outcome(row.call, tuple(tensors(a) for a in args), kwargs)
        differs = difference(row, found, wanted)
        if differs is None:
            continue
        known = [d for d in row.deviations if is_meant(d, found, args, kwargs)]
        met.update(known)
        if not known:
            shown = ", ".join([*map(short, args), *[f"{k}={v!r}" for k, v in kwargs.items()]])
            wrong.append(f"{row}({shown}) {differs}")
    assert not wrong, f"{len(wrong)} cases differ:\n" + "\n".join(wrong[:8])
    stale = [d.why for d in row.deviations if d not in met]
    assert not stale, f"no case meets this any more: {stale}"


def is_meant(deviation: Deviation, found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if isinstance(found, Exception):
        return bool(deviation.refuses) and re.search(deviation.refuses, str(found)) is not None
    return deviation.takes is not None and bool(deviation.takes(*args, **kwargs))


def short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"{value.dtype}{value.shape}"
    return repr(value)


# ---- compiled code ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "float64"])
def test_compiled_code_gives_what_the_interpreter_gives(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One program of all functions of one operand at the edges of a dtype, and one of all functions of two."""
    e = edges(dtype)
    # A function returns Python numbers as int32, as in TensorFlow.
    others = {*VALUE_FUNCTIONS, *READS_VALUES, np.ndim, np.size}
    rows = [row for row in (*numpy_table.ROWS, *numpy_table_protocol.ROWS) if row.call not in others]
    for args in ((e,), (e[:, None], e)):
        wanted: dict[Row, Any] = {}
        for row in rows:
            found = outcome(row.call, tuple(tensors(a) for a in args), {})
            if isinstance(found, np.ndarray):
                wanted[row] = found
        assert len(wanted) > 40
        program = jt.function(lambda *operands, rows=tuple(wanted): [row.call(*operands) for row in rows])
        monkeypatch.setattr(jt.config, "interpret", False)
        for _ in range(3):
            results = program(*args)
        monkeypatch.setattr(jt.config, "interpret", True)
        # The functions inside of `logaddexp2`, whose terms cancel, are rounded differently.
        pairs = zip(
            [(replace(row, rtol=max(row.rtol, 8)), w) for row, w in wanted.items()], results, strict=True
        )
        wrong = [f"{row}: {d}" for (row, w), r in pairs if (d := difference(row, np.asarray(r), w))]
        assert not wrong


# ---- completeness ----------------------------------------------------------------------------------------------------

NO_ARRAYS = {
    "autodiff, control flow, functions": (
        "jittape.flow",
        "jittape.functions",
        "jittape.inspect",
        "jittape.numba_bridge",
        "jittape.transforms",
        "jittape.autodiff",
        "jittape.recording",
        "jittape.numba_ad",
        "jittape.core.dtypes",
        "jittape.numpy_api.dtype_objects",
    ),
    "assertions, names and the words of graphs": (
        "jittape.debugging",
        "jittape.execution",
        "jittape.core.name_scopes",
    ),
    "profiles and progress": ("jittape.profiling", "jittape.progress_bar"),
    "other engines and fits": (
        "jittape.interop",
        "jittape.exports",
        "jittape.fits",
        "jittape.dask",
        "jittape.autodiff.flat_gradients",
    ),
    "random": ("jittape.random.dropout",),
    "sparse matrices of SciPy": ("jittape.sparse", "jittape.primitives.linalg.sparse_products"),
    "transforms, which test_signal compares": ("jittape.primitives.signal",),
}
"""Modules whose functions have no counterpart in NumPy that a value could be compared with."""


def public_functions() -> dict[Any, str]:
    """The functions of jittape that compute something from arrays, with one of their names."""
    others = tuple(name for names in NO_ARRAYS.values() for name in names)
    found: dict[Any, str] = {}
    for module in (jt, jt.math, jt.linalg, jt.nn, jt.bitwise):
        for name, value in vars(module).items():
            if (
                name[0] != "_"
                and isinstance(value, types.FunctionType)
                and not value.__module__.startswith(others)
            ):
                found.setdefault(value, f"{module.__name__}.{name}".replace("jittape", "jt"))
    return found


def test_every_public_function_has_a_row() -> None:
    compared = {row.call for row in ROWS}
    assert not {name for function, name in public_functions().items() if function not in compared}


def test_every_recorded_function_of_numpy_has_a_row() -> None:
    compared = {row.call for row in ROWS}
    missing = {
        f.__name__
        for f in {*FUNCTIONS, *UFUNCS, *VALUE_FUNCTIONS}
        if f not in compared and f not in WITHOUT_VALUE
    }
    assert not missing
    assert {f"np.{ufunc.__name__}.reduce" for ufunc in REDUCTIONS} <= {row.name for row in ROWS}


WITHOUT_VALUE = {
    np.array2string: "text",
    np.array_repr: "text",
    np.array_str: "text",
    np.einsum_path: "an order of contractions and a text",
    np.empty_like: "memory without a value",
    np.may_share_memory: "about memory",
    np.save: "writes a file",
    np.savetxt: "writes a file",
    np.savez: "writes a file",
    np.savez_compressed: "writes a file",
    np.shares_memory: "about memory",
}
