"""The table of dtypes agrees with NumPy, and no other file lists dtypes."""

from __future__ import annotations

import ast
import struct
from pathlib import Path

import numpy as np
import pytest

import jittape as jt
from jittape.core.dtypes import SUPPORTED, info_of

SOURCE = Path(jt.__file__).parent
MOST_LISTED = 4


@pytest.fixture(params=sorted({*SUPPORTED, jt.bfloat16}, key=str), ids=str)
def info(request):
    return info_of(request.param)


def test_agrees_with_numpy(info):
    one = np.ones(1, info.dtype)
    assert np.sin(one).dtype == info.floating
    assert one.real.dtype == info.real
    assert info.complex in (None, np.result_type(one, 1j))


def test_scalar_format_fills_a_cell_and_keeps_the_number(info):
    if info.scalar_format is None:
        assert info.dtype.kind == "c" or info.dtype == jt.bfloat16
        return
    packed = struct.pack("=" + info.scalar_format, info.dtype.type(1).item())
    assert len(packed) == 8
    assert np.frombuffer(packed, info.dtype, 1)[0] == 1


def test_llvm_type_has_the_width_of_the_dtype(info):
    widths = {
        "i1": 1,
        "float": 4,
        "double": 8,
        "<2 x float>": 8,
        "<2 x double>": 16,
        None: info.dtype.itemsize,
    }
    width = widths[info.llvm] if info.llvm in widths else int(info.llvm[1:]) // 8
    assert width == info.dtype.itemsize


def test_is_exported(info):
    assert getattr(jt, "bool" if info.dtype == bool else info.dtype.name) == info.dtype


def test_only_the_table_lists_dtypes():
    names = {dtype.name for dtype in SUPPORTED}
    found = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if sum(name in text for name in names) <= MOST_LISTED:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Dict, ast.List, ast.Set, ast.Tuple)):
                words = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                words |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                if len(names & {word for word in words if isinstance(word, str)}) > MOST_LISTED:
                    found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert [
        place
        for place in found
        if not place.startswith(("core/dtypes.py", "dtype_names.py", "__init__.py", "lazy_surface.py"))
    ] == []
