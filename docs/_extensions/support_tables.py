"""Tables that are computed while the docs are built: dtypes, promotion, ops, functions of NumPy.

The table of ops runs the rows that the tests of every op use (``tests/primitive_table*.py``), so it lists what is tested.
"""

import importlib
import itertools
import pkgutil
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

import jittape as jt
import jittape.primitives
from jittape.compile.analysis.op_class import OpClass, op_class_of
from jittape.core.dtypes import as_dtype, info_of
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_protocol import UFUNCS, VALUE_FUNCTIONS
from jittape.numpy_api.numpy_support import support

TESTS = Path(__file__).parents[2] / "tests"
DTYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "bfloat16", "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
SHORT = {
    name: name.replace("complex", "c")
    .replace("float", "f")
    .replace("uint", "u")
    .replace("int", "i")
    for name in DTYPES
}
SHORT["bfloat16"] = "bf16"

TOPICS = {
    "elementwise": ("elementwise",),
    "reductions": ("reduce",),
    "shapes": ("broadcast", "identity", "record_parts", "shape"),
    "indexing": ("indexing",),
    "linear-algebra": ("linalg",),
    "transforms": ("signal", "spectra"),
    "networks": ("nn",),
}
"""Topics of the tables of ops, each with its modules in `jittape.primitives`."""
FORMS = {
    OpClass.INLINE: "fused loop",
    OpClass.REDUCE: "fused loop",
    OpClass.SCAN: "loop",
    OpClass.JOIN: "fused loop",
    OpClass.ALIAS: "no code",
    OpClass.SCATTER: "loop",
    OpClass.CHECK: "fused loop",
    OpClass.CALL: "BLAS or a loop",
    OpClass.LAPACK: "LAPACK",
    OpClass.CONTROL: "loop or branch",
    OpClass.NUMPY: "NumPy step",
}
COLUMNS = ("int32", "float16", "float32", "complex64")
CONVERTED = {"int32": "float64", "float16": "float32"}


def list_table(rows, css_class):
    lines = [".. list-table::", "   :header-rows: 1", f"   :class: {css_class}", ""]
    for row in rows:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    return lines


def name_of(dtype):
    return SHORT.get(np.dtype(dtype).name, "")


def dtype_rows():
    """Return one row per dtype: name, bytes, arithmetic, dtype of means, BLAS, derivative."""
    yield (
        "Dtype",
        "Bytes",
        "Arithmetic of fused loops",
        "Sums of means",
        "Products by BLAS",
        "Gradients",
    )
    for name in DTYPES:
        info = info_of(as_dtype(name))
        differentiable = "yes" if info.dtype.kind in "fc" or name == "bfloat16" else "no"
        blas = "yes" if info.blas else "no"
        yield (
            f"``{name}``",
            info.dtype.itemsize,
            info.arithmetic.name,
            info.work.name,
            blas,
            differentiable,
        )


def promotion_rows():
    """Return the dtypes of sums of two tensors, from `jt.add`."""
    yield "", *[f"**{SHORT[name]}**" for name in DTYPES]
    zeros = {name: jt.zeros([], dtype=name) for name in DTYPES}
    for name in DTYPES:
        cells = []
        for other in DTYPES:
            try:
                cells.append(name_of(jt.add(zeros[name], zeros[other]).dtype))
            except TypeError:
                cells.append("error")
        yield f"**{name}**", *cells


def scalar_rows():
    """Return the dtypes of sums of a tensor and a Python number."""
    yield "Tensor", "``+ True``", "``+ 1``", "``+ 1.0``", "``+ 1j``"
    for name in DTYPES:
        x = jt.zeros([], dtype=name)
        yield (
            f"``{name}``",
            *[f"``{np.dtype((x + number).dtype).name}``" for number in (True, 1, 1.0, 1j)],
        )


def registered():
    """Return all primitives that users' programs contain, by name, each with its module in `jittape.primitives`."""
    found = {}
    for module in pkgutil.walk_packages(jittape.primitives.__path__, "jittape.primitives."):
        for value in vars(importlib.import_module(module.name)).values():
            own = isinstance(value, Primitive) and not value.calls_back
            if own and value.gradient_stops != "it is made by the compiler":
                found.setdefault(value.name, (value, module.name.split(".")[2]))
    return found


def recorded(row, dtype, program_of):
    """Return the program of a row with floating operands in `dtype`, and whether there are any; None if it raises."""
    operands = [np.asarray(x) for x in row.sample(np.random.default_rng(0))]
    cast = [x.astype(dtype) if x.dtype.kind == "f" else x for x in operands]
    try:
        return program_of(row.function, *cast), any(x.dtype.kind == "f" for x in operands)
    except (TypeError, ValueError):
        return None


def form_of(op, avals):
    if isinstance(op.primitive.lowering, Decomposition):
        return "other ops"
    return FORMS[op_class_of(op, avals)]


@cache
def support_of_ops():
    """Return for each primitive and dtype of `COLUMNS` the form of the op."""
    sys.path.insert(0, str(TESTS))
    try:
        modules = [
            importlib.import_module(path.stem)
            for path in sorted(TESTS.glob("primitive_table*.py"))
        ]
        program_of = importlib.import_module("programs").program_of
    finally:
        sys.path.remove(str(TESTS))
    found = defaultdict(dict)
    rows = [row for module in modules for row in module.ROWS]
    for row, dtype in itertools.product(rows, COLUMNS):
        program, is_cast = recorded(row, dtype, program_of) or (None, False)
        for op in program.ops if program is not None else ():
            avals = [program.avals[slot] for slot in (*op.args, op.out)]
            forms = found[op.primitive.name]
            if avals[0].dtype.name in COLUMNS:
                forms[avals[0].dtype.name] = form_of(op, avals)
            elif is_cast and avals[0].dtype.name == CONVERTED.get(dtype):
                forms.setdefault(dtype, f"as {avals[0].dtype.name}")
    return found


def derivative_of(primitive):
    if primitive.opaque:
        return "unknown"
    return "yes" if callable(primitive.vjp) or any(primitive.vjp) else "no"


def op_rows(topic):
    """Return one row per op of a topic: name, derivative, and the form of the op in each dtype of `COLUMNS`."""
    yield "Op", "Derivative", *[f"``{name}``" for name in COLUMNS]
    for name, (primitive, module) in sorted(registered().items()):
        forms = support_of_ops().get(name)
        if module in TOPICS[topic] and forms:
            yield (
                f"``{name}``",
                derivative_of(primitive),
                *[forms.get(dtype, r"\-") for dtype in COLUMNS],
            )


class TableDirective(Directive):
    """A table from a function of this module that returns its rows."""

    css_class = "numbers"
    """``numbers``: each row of the table is one line; ``text``: long cells are wrapped."""

    def run(self):
        node = nodes.container()
        self.state.nested_parse(
            StringList(list_table(self.rows(), self.css_class)), self.content_offset, node
        )
        return node.children


class DtypeTable(TableDirective):
    def rows(self):
        return dtype_rows()


class PromotionTable(TableDirective):
    def rows(self):
        return promotion_rows()


class ScalarTable(TableDirective):
    def rows(self):
        return scalar_rows()


class OpTable(TableDirective):
    """The table of ops of one topic, the argument."""

    required_arguments = 1

    def rows(self):
        return op_rows(self.arguments[0])


class NumpySupport(TableDirective):
    """The table of NumPy's functions with a tensor, from the tables of the package."""

    css_class = "text"

    def rows(self):
        yield "Function", "With a tensor", "Remark"
        for name, status, remark in support(FUNCTIONS, UFUNCS, VALUE_FUNCTIONS):
            yield f"``{name}``", status, remark


def setup(app):
    app.add_directive("dtype-table", DtypeTable)
    app.add_directive("numpy-support", NumpySupport)
    app.add_directive("op-table", OpTable)
    app.add_directive("promotion-table", PromotionTable)
    app.add_directive("scalar-table", ScalarTable)
    return {"parallel_read_safe": True}
