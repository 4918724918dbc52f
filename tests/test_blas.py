"""Which BLAS products run on, and that machine code knows it by name only."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np
import pytest
from llvmlite import ir

from host_schedules import schedule
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.kernels.gemm.blas_call import define_product
from jittape.compile.llvm import blas as module
from jittape.compile.llvm.blas import ROUTINES, blas, symbol
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.schedule.steps import NumpyStep
from jittape.core.program import Aval, Op, Program
from jittape.primitives.linalg.matmul import matmul_op
from processes import run_python
from programs import compiled, program_of

REPORT = """
import os
from jittape.compile.llvm.blas import blas
found = blas()
print(found.origin, found.core, os.environ.get("OPENBLAS_CORETYPE"))
"""
PRODUCT_WITHOUT_WHEEL = """
import sys
sys.modules["scipy_openblas32"] = None
import numpy as np
import jittape as jt
from jittape.compile.llvm.blas import blas

x = np.arange(1600.0).reshape(40, 40)
for _ in range(3):
    y = jt.constant(x) @ x
    y.numpy()
np.testing.assert_allclose(y.numpy(), x @ x)
assert jt.stats().programs
print(blas().origin)
"""
FACTORS_WITHOUT_WHEEL = """
import sys
sys.modules["scipy_openblas32"] = None
import numpy as np
import jittape as jt
from jittape.compile.llvm.blas import blas

a = np.eye(20) * 4 + 1.0
for _ in range(3):
    factor, solution = jt.linalg.cholesky(a), jt.linalg.solve(a, a)
    factor.numpy()
np.testing.assert_allclose(factor.numpy(), np.linalg.cholesky(a))
np.testing.assert_allclose(solution.numpy(), np.eye(20), atol=1e-12)
assert jt.stats().programs
print(blas().origin)
"""
PINNED = """
import sys
sys.modules["scipy_openblas32"] = None
import jittape as jt
from jittape.compile.llvm.blas import blas

get_threads, set_threads = blas().threads
set_threads(2)
print(get_threads())
for jt.config.deterministic in (True, False):
    print(get_threads())
"""
x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="core types of another processor"
)


def printed(*arguments: str, **variables: str | None) -> list[str]:
    done = run_python(*arguments, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_it_is_the_wheels_own_copy_on_one_thread() -> None:
    found = blas()
    assert found.origin == "scipy-openblas32"
    assert found.library is not None
    assert found.library.scipy_openblas_get_num_threads() == 1
    assert blas() is found


@x86
def test_the_kernels_are_those_that_the_processor_can_run() -> None:
    origin, core, variable = printed("-c", REPORT, OPENBLAS_CORETYPE=None)
    assert (origin, variable) == ("scipy-openblas32", "None")
    assert module._best_core() in (None, core)


@x86
def test_the_users_choice_of_kernels_wins() -> None:
    assert printed("-c", REPORT, OPENBLAS_CORETYPE="Nehalem") == ["scipy-openblas32", "Nehalem", "Nehalem"]


def test_the_variable_is_set_while_loading_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_best_core", lambda: "SkylakeX")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    with pytest.raises(OSError, match="cannot be loaded"), module._core_type():
        assert os.environ["OPENBLAS_CORETYPE"] == "SkylakeX"
        raise OSError("cannot be loaded")
    assert "OPENBLAS_CORETYPE" not in os.environ
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    with module._core_type():
        assert os.environ["OPENBLAS_CORETYPE"] == "Zen"
    assert os.environ["OPENBLAS_CORETYPE"] == "Zen"


def test_without_the_wheel_scipys_copy_serves() -> None:
    assert printed("-c", PRODUCT_WITHOUT_WHEEL) == ["scipy"]
    assert printed("-c", FACTORS_WITHOUT_WHEEL) == ["scipy"]


def test_deterministic_pins_scipys_copy_to_one_thread_for_a_while() -> None:
    assert printed("-c", PINNED) == ["2", "1", "2"]


def test_without_any_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_loaded", None)
    for name in ("scipy_openblas32", "scipy.linalg", "scipy.linalg.cython_blas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install scipy-openblas32"):
        blas()


@pytest.mark.parametrize("columns", [40, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_machine_code_has_names_and_no_addresses(dtype: str, columns: int) -> None:
    (step,) = schedule(
        program_of(matmul_op.bind, np.ones((40, 400), dtype), np.ones((400, columns), dtype))
    ).steps
    function = ir.Function(ir.Module(), KERNEL_TYPE, "product")
    assert isinstance(step.kernel, Gemm)
    define_product(step.kernel, function)
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[dtype]
    routine = letter + ("gemm" if columns > 1 else "gemv")
    assert routine in ROUTINES
    text = str(function.module)
    assert f'call void @"{symbol(routine)}"' in text
    assert "inttoptr" not in text


def test_dimensions_beyond_32_bits_are_numpys() -> None:
    """Nothing is computed: 2³¹ columns of nothing."""
    n = 2**31
    x, y, out = (Aval(shape, np.dtype("float32")) for shape in ((0, 1), (1, n), (0, n)))
    program = Program((0, 1), (Op(matmul_op, (0, 1), (), 2),), (2,), {0: x, 1: y, 2: out})
    (step,) = schedule(program).steps
    assert isinstance(step, NumpyStep)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s).astype(dtype) for s in ((30, 50), (50, 70)))
    if x.dtype.kind == "c":
        x, y = x * (2 - 1j), y + y[::-1] * 3j
    (found,) = compiled(program_of(matmul_op.bind, x, y), [x, y])
    np.testing.assert_allclose(found, x @ y, rtol=1e-4, atol=1e-4)
