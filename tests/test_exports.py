"""`jt.export`: libraries for C whose test programs compare their results with jittape's."""

from __future__ import annotations

import itertools
import platform
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt

FLOAT = jt.float64
CC, CXX = shutil.which("cc"), shutil.which("c++")

pytestmark = pytest.mark.skipif(CC is None, reason="needs a C compiler")


def spec(*shape: int, dtype: Any = FLOAT) -> jt.TensorSpec:
    return jt.TensorSpec(shape, dtype)


def rosenbrock(x: Any) -> Any:
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def output_of(made: jt.ExportedLibrary, compiler: str | None = CC) -> str:
    """Compile and run the test program."""
    folder = made.test.parent
    program = folder / "program"
    name = made.header.stem
    assert compiler is not None
    subprocess.run(
        [compiler, "-Wall", "-Werror", *(["-x", "c++"] if compiler == CXX else []), "-o", program, made.test,
         "-x", "none", f"-I{folder}", f"-L{folder}", f"-l{name}", "-lm", f"-Wl,-rpath,{folder}"],
        check=True,
    )  # fmt: skip
    run = subprocess.run([program], capture_output=True, text=True, check=False)
    return run.stdout.strip()


PROGRAMS: dict[str, tuple[Callable[..., Any], Sequence[jt.TensorSpec]]] = {
    "stencil": (rosenbrock, [spec(10)]),
    "large temporaries": (rosenbrock, [spec(50_000)]),
    "float32": (lambda x: jt.reduce_sum(jt.tanh(x)), [spec(33, dtype=jt.float32)]),
    "special functions": (
        lambda x: jt.reduce_sum(jt.math.lgamma(x) + jt.math.erf(x) + jt.pow(x, 2.3)),
        [spec(13)],
    ),
    "small products": (lambda x, w: jt.reduce_sum(jt.matmul(x, w) ** 2), [spec(3, 4), spec(4, 2)]),
    "constants": (lambda x: jt.reduce_sum(x * np.arange(1000.0)), [spec(1000)]),
    "integers": (lambda x, i: jt.reduce_sum(jt.gather(x, i) ** 2), [spec(9), spec(4, dtype=jt.int32)]),
    "sorted": (lambda x: jt.reduce_sum(jt.sort(x) * np.arange(7.0)), [spec(7)]),
    "scan": (lambda x: jt.scan(lambda c, e: jt.sin(c) * e, x, jt.constant(1.0, FLOAT))[-1], [spec(50)]),
    "loop of unknown length": (
        lambda x: jt.while_loop(
            lambda i, y: jt.reduce_sum(y) < 100.0, lambda i, y: (i + 1, 1.5 * y + x), (0, x)
        )[1][0],
        [spec(5)],
    ),
    "independent of the argument": (lambda x: jt.constant(2.0, FLOAT), [spec(5)]),
    "several results": (lambda x: (2.0 * x, jt.reduce_sum(x)), [spec(5)]),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_the_library_agrees_with_jittape(case: str, tmp_path: Path) -> None:
    function, specs = PROGRAMS[case]
    made = jt.export(function, specs, "model", directory=tmp_path)
    assert output_of(made) == "all values agree"
    assert made.needs == ()


def test_the_test_program_notices_wrong_values(tmp_path: Path) -> None:
    made = jt.export(rosenbrock, spec(4), "model", directory=tmp_path)
    text = made.test.read_text()
    start = text.index("value_0_expected[1] = {") + len("value_0_expected[1] = {")
    made.test.write_text(text[:start] + "1.0 + " + text[start:])
    assert "model_value value[0]" in output_of(made)


def test_the_sparse_hessian(tmp_path: Path) -> None:
    import ctypes

    made = jt.export(rosenbrock, spec(6), "model", directory=tmp_path, hessian=True)
    assert output_of(made) == "all values agree"
    library = ctypes.CDLL(str(made.library))
    expected = jt.sparse_hessian(rosenbrock)(np.linspace(0.0, 1.0, 6))
    indptr = (ctypes.c_int32 * 7).in_dll(library, "model_hessian_indptr")
    indices = (ctypes.c_int32 * expected.nnz).in_dll(library, "model_hessian_indices")
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(indices, expected.indices)
    x, values = np.linspace(0.0, 1.0, 6), np.zeros(expected.nnz)
    pointer = ctypes.POINTER(ctypes.c_double)
    assert library.model_hessian(x.ctypes.data_as(pointer), values.ctypes.data_as(pointer)) == 0
    np.testing.assert_allclose(values, expected.data)


def test_failing_operations_return_1(tmp_path: Path) -> None:
    import ctypes

    made = jt.export(
        lambda x: jt.debugging.assert_positive(x) or jt.reduce_sum(jt.sqrt(x)),
        spec(3),
        "model",
        directory=tmp_path,
    )
    library = ctypes.CDLL(str(made.library))
    pointer = ctypes.POINTER(ctypes.c_double)
    for x, expected in ((np.ones(3), 0), (np.array([1.0, -1.0, 1.0]), 1)):
        value = np.zeros(1)
        assert library.model_value(x.ctypes.data_as(pointer), value.ctypes.data_as(pointer)) == expected


def test_products_name_the_blas_that_they_need(tmp_path: Path) -> None:
    made = jt.export(
        lambda x, w: jt.reduce_sum(jt.matmul(x, w) ** 2),
        [spec(64, 100), spec(100, 70)],
        "model",
        directory=tmp_path,
    )
    assert made.needs == ("dgemm_",)


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 only")
def test_products_of_small_matrices_need_no_blas_with_wide_registers(tmp_path: Path) -> None:
    for cpu, needs in (("x86-64-v3", ("dgemm_",)), ("x86-64-v4", ())):
        made = jt.export(
            lambda x, w: jt.reduce_sum(jt.matmul(x, w) ** 2),
            [spec(32, 16), spec(16, 16)],
            "model",
            directory=tmp_path,
            cpu=cpu,
        )
        assert made.needs == needs


def test_equal_functions_give_equal_bytes(tmp_path: Path) -> None:
    """Also the test program: its numbers do not depend on whether the function has been compiled before."""

    def files(folder: str) -> list[bytes]:
        (tmp_path / folder).mkdir()
        made = jt.export(
            lambda x: jt.reduce_sum(jt.where(x > 1.0, x**2, -x)),
            spec(9),
            "model",
            directory=tmp_path / folder,
            hessian=True,
        )
        return [path.read_bytes() for path in (made.object, made.library, made.header, made.test)]

    assert files("first") == files("second") == files("third")


def test_a_function_of_one_number(tmp_path: Path) -> None:
    made = jt.export(lambda s: s * jt.exp(-s * s), spec(), "model", directory=tmp_path, hessian=True)
    assert made.symbols == ("model_value", "model_value_and_gradient", "model_hessian")
    assert output_of(made) == "all values agree"


@pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")
def test_the_header_is_that_of_cpp_too(tmp_path: Path) -> None:
    made = jt.export(rosenbrock, spec(4), "model", directory=tmp_path, hessian=True)
    assert output_of(made, CXX) == "all values agree"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_minimizes_with_the_gradient(tmp_path: Path) -> None:
    """The example of the page on engines."""
    jt.export(rosenbrock, spec(10), "energy", directory=tmp_path)
    program = """
        dyn.load("libenergy.so")
        energy <- function(x) .C("energy_value_and_gradient", x = x, value = 0, gradient = numeric(10))
        best <- optim(numeric(10), function(x) energy(x)$value, function(x) energy(x)$gradient, method = "BFGS")
        cat(energy(numeric(10))$value, energy(numeric(10))$gradient, round(best$par, 3))
    """
    run = subprocess.run(["Rscript", "-e", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["9", *["-2"] * 9, "0", *["1"] * 10]


@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs Rust")
def test_rust_links_the_library(tmp_path: Path) -> None:
    """The example of the page on engines."""
    jt.export(rosenbrock, spec(10), "energy", directory=tmp_path)
    page = (Path(__file__).parents[1] / "docs" / "guides" / "engines.rst").read_text(encoding="utf-8")
    text = page.partition(".. code-block:: rust\n")[2].partition("\n.. ")[0]
    (tmp_path / "main.rs").write_text(text, encoding="utf-8")
    command = ["rustc", "main.rs", "-L.", "-C", "link-arg=-Wl,-rpath,."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "9", "-2"]


@pytest.mark.parametrize("cpu", ["native", None])
def test_processors(cpu: str | None, tmp_path: Path) -> None:
    made = jt.export(rosenbrock, spec(40), "model", directory=tmp_path, cpu=cpu)
    assert output_of(made) == "all values agree"


@pytest.mark.parametrize(
    ("language", "commands", "expected"),
    [
        (
            "c",
            [["cc", "{source}", "-L.", "-lenergy", "-lm", "-Wl,-rpath,.", "-o", "main"], ["./main"]],
            "9 -2",
        ),
        ("r", [["Rscript", "{source}"]], "[1] 1 1 1 1 1 1 1 1 1 1"),
        (
            "rust",
            [["rustc", "-L", ".", "-C", "link-args=-Wl,-rpath,.", "-o", "main", "{source}"], ["./main"]],
            "0 9 -2",
        ),
    ],
)
def test_programs_of_the_guide(
    language: str, commands: list[list[str]], expected: str, tmp_path: Path
) -> None:
    """The programs that call ``energy`` in the guide to other engines."""
    if shutil.which(commands[0][0]) is None:
        pytest.skip(f"needs {commands[0][0]}")
    guide = (Path(__file__).parents[1] / "docs" / "guides" / "engines.rst").read_text(encoding="utf-8")
    _, _, rest = guide.partition(f".. code-block:: {language}\n\n")
    lines = list(itertools.takewhile(lambda line: not line or line.startswith("   "), rest.splitlines()))
    source = tmp_path / f"example.{language if language != 'rust' else 'rs'}"
    source.write_text(textwrap.dedent("\n".join(lines)), encoding="utf-8")
    jt.export(rosenbrock, spec(10), "energy", directory=tmp_path)
    for command in commands:
        words = [word.format(source=source.name) for word in command]
        run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == expected


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"name": "9a"}, ValueError, "name must be a C identifier, got '9a'"),
        ({"specs": [3]}, TypeError, "the specs must be jt.TensorSpec, one for each argument, got 3"),
        ({"specs": 3}, TypeError, "the specs must be jt.TensorSpec, one for each argument, got 3"),
        (
            {"specs": []},
            TypeError,
            r"rosenbrock\(.*\) cannot be called with 0 arguments, one for each spec: missing",
        ),
        ({"specs": [spec(4), spec(4)]}, TypeError, "cannot be called with 2 arguments, .*: too many"),
        ({"specs": jt.TensorSpec([None], FLOAT)}, ValueError, "the shapes must be known"),
        ({"specs": spec(4, dtype=jt.float16)}, TypeError, "x0 has dtype float16, for which C has no type"),
        (
            {"specs": spec(4, dtype=jt.complex128)},
            TypeError,
            "x0 has dtype complex128, for which C has no type",
        ),
        ({"example": [1, 2]}, ValueError, "example has 2 arguments, but there are 1 specs"),
        ({"example": [[1.0, 2.0]]}, ValueError, r"example\[0\] must have shape \(4,\), got \(2,\)"),
        ({"argnum": 1}, ValueError, r"\[export\] argnum=1 requires argument 1, but there are 1 specs"),
        ({"cpu": "pentium"}, ValueError, "cpu must be 'native' or one of .*, got 'pentium'"),
        ({"directory": "/nowhere/at/all"}, FileNotFoundError, "there is no directory /nowhere/at/all"),
        ({"f": lambda x: x, "hessian": True}, ValueError, "returns one floating scalar"),
        (
            {
                "f": lambda x, i: jt.reduce_sum(jt.gather(x, i) ** 2),
                "specs": [spec(9), spec(4, dtype=jt.int32)],
                "hessian": True,
            },
            TypeError,
            "the pattern of the Hessian may depend on x1, of dtype int32: let the function capture it",
        ),
        (
            {"f": lambda x: x[0] if float(x[0]) > 0 else x[1]},
            TypeError,
            "model_value cannot be exported: the value",
        ),
        (
            {"f": lambda x: x[0] * jt.random.normal([])},
            TypeError,
            "cannot be exported: it draws random numbers",
        ),
        (
            {"f": lambda x: jt.math.real(jt.signal.fft(jt.tile(jt.cast(x, "complex128"), [1000]))[0])},
            TypeError,
            "has no compiled code of jittape",
        ),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path) -> None:
    arguments = {"f": rosenbrock, "specs": spec(4), "name": "model", "directory": tmp_path} | options
    with pytest.raises(error, match=message):
        jt.export(**arguments)


def test_arguments_are_counted_from_the_end_too(tmp_path: Path) -> None:
    made = jt.export(
        lambda x, y: jt.reduce_sum(x * y), [spec(4), spec(4)], "model", directory=tmp_path, argnum=-1
    )
    assert "Value and gradient with respect to x1." in made.header.read_text()


def test_an_example_where_the_function_works(tmp_path: Path) -> None:
    def log_determinant(x: Any) -> Any:
        return jt.reduce_sum(jt.math.log(jt.linalg.diag_part(jt.linalg.cholesky(x))))

    with pytest.raises(jt.errors.LinAlgError) as caught:
        jt.export(log_determinant, spec(3, 3), "volume", directory=tmp_path)
    assert "give others with example=" in caught.value.__notes__[-1]
    made = jt.export(log_determinant, spec(3, 3), "volume", directory=tmp_path, example=[4.0 * np.eye(3)])
    assert "volume_value" in made.symbols


def test_without_a_compiler_the_object_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(
        FileNotFoundError, match="there is no C compiler to link .*: install gcc or clang, or set CC"
    ):
        jt.export(rosenbrock, spec(4), "model", directory=tmp_path)
    assert (tmp_path / "model.o").stat().st_size > 0
