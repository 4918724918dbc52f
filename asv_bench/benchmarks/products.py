"""Matrix products: the time of jittape's kernels as a fraction of NumPy's, in turns in one process.

Below 1 is faster than NumPy. Both sides have their operands and a place for the result; what is compared is a program
of one product, run 20 times by the driver, with 20 calls of ``np.matmul``. NumPy uses the threads that it is given
(``OPENBLAS_NUM_THREADS``), jittape one.
"""

import time

import numpy as np

from jittape.compile.analysis.gemm_operands import BatchLoop, Matrix, Product, block_sizes, form_of
from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.gemm_kernel import Gemm, bits_of
from jittape.compile.ir.instructions import Operand
from jittape.compile.ir.table_layouts import KERNEL_CALL, LAUNCH_HEAD
from jittape.compile.llvm.blas import host_facts
from jittape.runtime.threads import pool_address

CASES = {
    "4x4 @ 4x4": (1, 4, 4, 4),
    "8x8 @ 8x8": (1, 8, 8, 8),
    "16x16 @ 16x16": (1, 16, 16, 16),
    "1000 x 4x4 @ 4x4": (1000, 4, 4, 4),
    "1000 x 8x8 @ 8x8": (1000, 8, 8, 8),
    "1x256 @ 256x256": (1, 1, 256, 256),
    "1000x20 @ 20x1": (1, 1000, 1, 20),
    "16x32 @ 32x128": (1, 16, 128, 32),
    "24x24 @ 24x24": (1, 24, 24, 24),
    "32x32 @ 32x32": (1, 32, 32, 32),
    "64x64 @ 64x64": (1, 64, 64, 64),
    "64 x 16x16 @ 16x16": (64, 16, 16, 16),
    "64 x 32x32 @ 32x32": (64, 32, 32, 32),
    "128x128 @ 128x128": (1, 128, 128, 128),
    "32x64 @ 64x10": (1, 32, 10, 64),
    "32x784 @ 784x128": (1, 32, 128, 784),
    "256x784 @ 784x128": (1, 256, 128, 784),
}
CALLS = 20
ROUNDS = 30


class AgainstNumPy:
    """Minimum time of many runs."""

    params = (list(CASES), ["float32", "float64"])
    param_names = ("product", "dtype")
    unit = "ratio"

    def track_ratio(self, case: str, dtype: str) -> float:
        batch, m, n, k = CASES[case]
        rng = np.random.default_rng(0)
        x = rng.normal(size=(batch, m, k)).astype(dtype)
        y = rng.normal(size=(batch, k, n)).astype(dtype)
        out = np.empty((batch, m, n), dtype)
        run = kernel_calls(x, y, out)
        ours = theirs = float("inf")
        for _ in range(ROUNDS):
            ours = min(ours, seconds(run))
            theirs = min(theirs, seconds(lambda: [np.matmul(x, y, out=out) for _ in range(CALLS)]))
        return ours / theirs


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def kernel_calls(x, y, out):
    """Return a function that multiplies `CALLS` times."""
    (batch, m, k), n = x.shape, y.shape[2]
    loops = BatchLoop(1, 0, 0), BatchLoop(batch, m * k, k * n)
    product = Product(Matrix(0, False, k, 0), Matrix(1, False, n, 0), m, n, k, loops)
    facts = host_facts()
    form = form_of(product, x.dtype, facts)
    cut = block_sizes(product, form == "matrix" and facts.unpacked)
    if form.startswith(("vector", "columns")) and n > 1:
        sizes = (1, batch, n, 1, k, 1, n, 0, 0, k * n, 1, 0, 0, m * k, *cut, 1, batch, n, 1, k)
        operands, flags = (y, x, out), (True, False)
    else:
        sizes = (1, batch, m, n, k, n, k, 0, 0, m * k, n, 0, 0, k * n, *cut, 1, batch, m, n, k)
        operands, flags = (x, y, out), (False, False)
    sizes += (bits_of(1.0, x.dtype), bits_of(0.0, x.dtype))
    kernel = Gemm(tuple([Operand(name, x.dtype) for name in ("a0", "a1", "r0")]), x.dtype, flags, form)
    (machine_code,), _ = registry.addresses([kernel])
    memory = (
        np.array([address(a) for a in operands]),
        np.arange(3, dtype=np.int32),
        np.array(sizes, np.int64),
        np.zeros(1, np.int64),  # the list of growing stacks, which is empty
    )
    call = KERNEL_CALL.pack(
        kernel=machine_code, slots=address(memory[1]), sizes=address(memory[2]), tasks=1, threads=1
    )
    table = np.array([*LAUNCH_HEAD.pack(calls=CALLS, pool=pool_address(1), runs=0), *call * CALLS])
    drive = registry.driver()

    def run():
        drive(address(table), address(memory[0]), address(memory[3]))

    np.testing.assert_allclose((run(), out)[1], x @ y, rtol=1e-3, atol=1e-3)
    return run


def address(array):
    return array.__array_interface__["data"][0]
