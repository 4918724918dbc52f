"""`jt.export`: a function with its gradient as a shared library for C, C++ and everything that calls C."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.ir.target_facts import TargetFacts
from jittape.compile.llvm.blas import ROUTINES, host_facts, symbol
from jittape.compile.llvm.object_file import undefined_symbols
from jittape.compile.llvm.target import export_object, has_wide_registers
from jittape.core.config import config
from jittape.core.user_calls import as_function
from jittape.errors import ShapeError
from jittape.exports.c_sources import CFunctionText, Parameter, c_type_of, header, test_program
from jittape.functions.signature import TensorSpec
from jittape.numba_bridge.c_emitter import module_of
from jittape.numba_bridge.native_function import NativeFunction
from jittape.numba_bridge.njit import argument_number, check_specs
from jittape.numba_bridge.traced_function import Traced, trace, with_gradient
from jittape.recording.convert import convert_to_tensor
from jittape.sparse.sparse_derivatives import sparse_hessian
from jittape.transforms.gradients import value_and_grad

__all__ = ["ExportedLibrary", "export"]

_Array = np.ndarray[Any, Any]
_C_LIBRARY = ("malloc", "realloc", "free", "memcpy", "memset", "memmove", "memcmp")
_MATH = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|fabs|floor|ceil|trunc|round|rint|nearbyint"
    r"|fmod|remainder|fma|fmin|fmax|ldexp|frexp|scalbn|copysign|nextafter|erfc?|[lt]gamma|j[01n]|y[01n]|modf)f?"
)
"""Functions of libm."""


@dataclass(frozen=True)
class ExportedLibrary:
    """Files that `export` has written.

    Attributes
    ----------
    library, object, header, test : pathlib.Path
        The shared library, its object file, the C header, and the source of a test program.
    symbols : tuple of str
        Names of the functions.
    needs : tuple of str
        Functions of a BLAS or LAPACK that the library calls, with Fortran's names, such as ``"dgemm_"``.
    """

    library: Path
    object: Path
    header: Path
    test: Path
    symbols: tuple[str, ...]
    needs: tuple[str, ...]


def export(
    f: Callable[..., Any],
    specs: TensorSpec | Sequence[TensorSpec],
    name: str,
    *,
    directory: str | os.PathLike[str] = ".",
    argnum: int = 0,
    hessian: bool = False,
    example: Sequence[Any] | None = None,
    cpu: str | None = None,
    blas: str | None = None,
) -> ExportedLibrary:
    """Write a function and its gradient as a shared library that needs neither Python nor jittape.

    The library has a function ``name_value``; if `f` returns a floating scalar also ``name_value_and_gradient``, and on
    demand ``name_hessian``, the elements of the sparse Hessian. The header ``name.h`` describes them, and the program
    ``name_test.c`` compares their results with jittape's. Equal functions give equal bytes on one machine.

    Parameters
    ----------
    f : callable
        Function of tensors that returns a tensor or a tuple of tensors. It is traced once; values from outside become
        constants.
    specs : TensorSpec or sequence of TensorSpec
        Shape and dtype of each argument, without unknown extents.
    name : str
        Name of the library and beginning of the names of its functions, a C identifier.
    directory : path
        Existing directory for the files.
    argnum : int
        Number of the argument to differentiate with respect to.
    hessian : bool
        Whether the library has the sparse Hessian. Its pattern is part of the library.
    example : sequence of array-like, optional
        Arguments for the test program. By default, numbers between 0.5 and 1.5.
    cpu : str, optional
        Oldest processor that the library must run on: ``"native"`` for this one, or LLVM's name, such as ``"x86-64"``,
        ``"haswell"`` or ``"neoverse-n1"``. By default ``"x86-64-v3"`` (with AVX2) on x86, ``"generic"`` elsewhere.
        With AVX-512, as from ``"x86-64-v4"`` on, most products of small matrices need no BLAS.
    blas : str, optional
        Library to link for large products, such as ``"openblas"``. Otherwise the functions that `needs` lists must be
        linked with the program.

    Returns
    -------
    ExportedLibrary
        Paths of the files.

    Raises
    ------
    TypeError
        If an operation has no compiled code, a dtype has no type in C, `f` needs the value of a tensor, or the Hessian
        is asked for and an argument has integers or bools, on which its pattern may depend.
    ValueError
        If `name` is no C identifier, the processor is unknown, or the Hessian is asked for where `f` returns no scalar.
    ShapeError
        If an array of `example` does not have the shape of its spec.
    FileNotFoundError
        If there is no C compiler, which links the library, or no such directory. The object file is written before.

    Examples
    --------
    >>> import tempfile
    >>> import jittape as jt
    >>> folder = tempfile.mkdtemp()
    >>> spec = jt.TensorSpec([3], jt.float64)
    >>> made = jt.export(lambda x: jt.reduce_sum(jt.sin(x) ** 2), spec, "wave", directory=folder)
    >>> made.symbols, made.header.name
    (('wave_value', 'wave_value_and_gradient'), 'wave.h')
    """
    as_function("f", f)
    listed: list[Any] = list(specs) if isinstance(specs, (tuple, list)) else [specs]
    _check(name, listed, example)
    check_specs("export", f, len(listed))
    argnum = argument_number("export", argnum, len(listed)) if listed else 0
    folder = Path(directory)
    if not folder.is_dir():
        raise FileNotFoundError(f"[export] there is no directory {folder}")
    with _compiled_at_once():
        parts = _Parts(f, listed, name, argnum, example, cpu)
        parts.add_value()
        if parts.is_scalar:
            parts.add_gradient()
        if hessian:
            parts.add_hessian()
    module = module_of(name, parts.natives, embeds=True)
    if parts.pattern is not None:
        _add_pattern(module, name, parts.pattern)
    code, needs = _object(module, cpu)
    made = ExportedLibrary(
        folder / _library_name(name), folder / f"{name}.o", folder / f"{name}.h", folder / f"{name}_test.c",
        tuple(parts.natives), needs,
    )  # fmt: skip
    made.object.write_bytes(code)
    made.header.write_text(header(name, parts.texts, parts.pattern), encoding="utf-8")
    made.test.write_text(test_program(name, parts.texts), encoding="utf-8")
    _link(made, blas)
    return made


def _check(name: str, specs: Sequence[Any], example: Sequence[Any] | None) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"[export] name must be a C identifier, got {name!r}")
    for i, spec in enumerate(specs):
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"[export] the specs must be jt.TensorSpec, one for each argument, got {spec!r}")
        if spec.shape is None or None in tuple(spec.shape):
            raise ValueError(
                f"[export] the shapes must be known, got {spec!r}: export one library for each size"
            )
        c_type_of(f"x{i}", spec.aval.dtype)
    if example is not None and len(example) != len(specs):
        raise ValueError(f"[export] example has {len(example)} arguments, but there are {len(specs)} specs")


@contextmanager
def _compiled_at_once() -> Iterator[None]:
    """Compile before the first run. An interpreted first run may round the test program's numbers otherwise."""
    before = config.compile_after
    config.compile_after = 0
    try:
        yield
    finally:
        config.compile_after = before


class _Parts:
    """The functions of a library, with their results for the example."""

    def __init__(
        self,
        f: Callable[..., Any],
        specs: Sequence[TensorSpec],
        name: str,
        argnum: int,
        example: Sequence[Any] | None,
        cpu: str | None,
    ) -> None:
        self._f, self._specs, self._name, self._argnum, self._cpu = f, specs, name, argnum, cpu
        arrays = [_example(spec) for spec in specs] if example is None else example
        self._arguments = [
            np.asarray(array, spec.dtype.as_numpy_dtype, order="C")
            for array, spec in zip(arrays, specs, strict=True)
        ]
        for i, (array, spec) in enumerate(zip(self._arguments, specs, strict=True)):
            if array.shape != tuple(spec.shape):
                raise ShapeError(
                    f"[export] example[{i}] must have shape {tuple(spec.shape)}, got {array.shape}"
                )
        self._inputs = [Parameter(f"x{i}", array, True) for i, array in enumerate(self._arguments)]
        try:
            found = f(*[convert_to_tensor(array) for array in self._arguments])
            parts = found if isinstance(found, (tuple, list)) else [found]
            self._found = [np.asarray(part.numpy()) for part in parts]
        except Exception as error:
            error.add_note("[export] at the arguments of the test program: give others with example=")
            raise
        self.natives: dict[str, NativeFunction] = {}
        self.texts: list[CFunctionText] = []
        self.pattern: Any | None = None

    @property
    def is_scalar(self) -> bool:
        return len(self._found) == 1 and self._found[0].shape == () and self._found[0].dtype.kind == "f"

    def _add(
        self, suffix: str, function: Callable[..., Any], outputs: Sequence[Parameter], summary: str
    ) -> None:
        symbol = f"{self._name}_{suffix}"
        names = [parameter.name for parameter in self._inputs]
        try:
            traced = trace(function, symbol, names, self._specs)
        except TypeError as error:
            raise TypeError(
                f"[export] {str(error).replace('be compiled for Numba', 'be exported')}"
            ) from None
        self.natives[symbol] = _native(traced, self._cpu)
        self.texts.append(CFunctionText(symbol, [*self._inputs, *outputs], summary))

    def add_value(self) -> None:
        several = len(self._found) > 1
        outputs = [
            Parameter(f"value{i}" if several else "value", x, False) for i, x in enumerate(self._found)
        ]
        self._add("value", self._f, outputs, "Value")

    def add_gradient(self) -> None:
        of = value_and_grad(self._f, argnums=self._argnum, unconnected_gradients="zero")
        value, gradient = of(*self._arguments)
        outputs = [
            Parameter("value", np.asarray(value), False),
            Parameter("gradient", np.asarray(gradient), False),
        ]
        function = with_gradient(self._f, f"{self._name}_value_and_gradient", self._argnum)
        self._add(
            "value_and_gradient", function, outputs, f"Value and gradient with respect to x{self._argnum}"
        )

    def add_hessian(self) -> None:
        if not self.is_scalar:
            raise ValueError("[export] the Hessian is that of a function that returns one floating scalar")
        for i, array in enumerate(self._arguments):
            if array.dtype.kind in "biu":
                raise TypeError(
                    f"[export] the pattern of the Hessian may depend on x{i}, of dtype {array.dtype.name}: let the "
                    "function capture it, as a constant, or make it a float"
                )
        sparse = sparse_hessian(self._f, argnums=self._argnum)
        self.pattern = sparse(*self._arguments)
        values = np.asarray(sparse.values(*self._arguments))
        self._add("hessian", sparse.values, [Parameter("values", values, False)], "Elements of the Hessian")


def _native(traced: Traced, cpu: str | None) -> NativeFunction:
    def not_callable(*unused: Any) -> None:
        raise TypeError("an exported function is called from C")

    def target() -> TargetFacts:
        return host_facts()._replace(wide_registers=has_wide_registers(cpu))

    return NativeFunction(traced, not_callable, target)


def _example(spec: TensorSpec) -> _Array:
    dtype = spec.dtype.as_numpy_dtype
    shape = tuple(spec.shape)
    is_float = np.dtype(dtype).kind == "f"
    values = np.random.default_rng(0).uniform(0.5, 1.5, shape) if is_float else np.zeros(shape)
    return values.astype(dtype)


# ---- object file and library -----------------------------------------------------------------------------------------


def _add_pattern(module: ir.Module, name: str, pattern: Any) -> None:
    """Add the indices of the Hessian as constant arrays."""
    for part in ("indptr", "indices"):
        values = [int(i) for i in getattr(pattern, part)] or [0]
        ty = ir.ArrayType(ir.IntType(32), len(values))
        data = ir.GlobalVariable(module, ty, f"{name}_hessian_{part}")
        data.global_constant = True
        data.initializer = ir.Constant(ty, values)


def _object(module: ir.Module, cpu: str | None) -> tuple[bytes, tuple[str, ...]]:
    """Return the object file of a module, and the functions of a BLAS that it calls, by their usual names."""
    usual = {symbol(routine): f"{routine}_" for routine in ROUTINES}
    code = export_object(module, cpu, usual)
    needs, unknown = [], []
    for name in undefined_symbols(code):
        if name in usual.values():
            needs.append(name)
        elif name not in _C_LIBRARY and not _MATH.fullmatch(name):
            unknown.append(name)
    if unknown:
        raise TypeError(f"[export] the code needs {', '.join(unknown)}, which C programs do not have")
    return code, tuple(needs)


def _library_name(name: str) -> str:
    return {"win32": f"{name}.dll", "darwin": f"lib{name}.dylib"}.get(sys.platform, f"lib{name}.so")


def _link(made: ExportedLibrary, blas: str | None) -> None:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise FileNotFoundError(
            f"[export] there is no C compiler to link {made.library.name}: install gcc or clang, or set CC. "
            f"{made.object} is written"
        )
    command = [*compiler.split(), "-shared", "-o", str(made.library), str(made.object)]
    if sys.platform.startswith("linux"):
        command.append("-Wl,--build-id=none")
    command += [*([f"-l{blas}"] if blas else []), "-lm"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise OSError(f"[export] {' '.join(command)} failed: {run.stderr.strip()}")
