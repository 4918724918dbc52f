"""One-time costs of a process: the import, and machine code for a path at its second visit."""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import jittape as jt
from jittape.compile.cache.kernel_cache import Registry
from jittape.compile.ir.kernel import Kernel
from jittape.compile.llvm.blas import host_facts
from jittape.compile.schedule.schedule import schedule
from jittape.core.builder import Builder
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Program
from jittape.core.simplify import simplify

# Three visits of one path: interpreted, compiled, reused.
FIRST_STEPS = """
import numpy as np
import jittape as jt

x = np.linspace(-1, 1, 100, dtype=np.float32)
m, b = jt.Variable(0.0), jt.Variable(0.0)
for step in range(3):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(m * x + b - (3 * x + 2)))
    dm, db = tape.gradient(loss, [m, b])
    m.assign_sub(0.05 * dm)
    b.assign_sub(0.05 * db)
    float(loss)
"""


class Startup:
    """Times of separate processes."""

    def timeraw_import_numpy(self) -> str:
        return "import numpy"

    def timeraw_import_jittape(self) -> str:
        return "import jittape"

    timeraw_import_numpy.number = timeraw_import_jittape.number = 1  # a second import costs nothing


class FirstGradient:
    """From the start of a process to its first compiled gradient, imports included."""

    params = ("empty", "filled")
    param_names = ("cache",)
    unit = "s"
    number = 1  # with an empty cache, a second run would find it filled
    warmup_time = 0.0

    def setup(self, cache: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        if cache == "filled":
            self.run()

    def teardown(self, cache: str) -> None:
        self.folder.cleanup()

    def run(self, report: str = "", program: str = FIRST_STEPS) -> str:
        environment = os.environ | {"JITTAPE_CACHE_DIR": self.folder.name}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's process finds bytecode
        done = subprocess.run(
            [sys.executable, "-c", program + report],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        return done.stdout

    def time_process(self, cache: str) -> None:
        self.run()

    def track_compile_seconds(self, cache: str) -> float:
        """Of that, simplification, scheduling and machine code, as `jittape.stats` counts it."""
        return float(self.run("print(jt.stats().compile_seconds)"))


class FirstGradientOverNumpy:
    """The same with a filled cache, as a multiple of the time of a process that imports NumPy, in turns."""

    unit = "times NumPy"

    def setup(self) -> None:
        self.process = FirstGradient()
        self.process.setup("filled")

    def teardown(self) -> None:
        self.process.teardown("filled")

    def track_ratio(self) -> float:
        ratios = []
        for _ in range(11):
            start = time.perf_counter()
            self.process.run()
            middle = time.perf_counter()
            self.process.run(program="import numpy")
            ratios.append((middle - start) / (time.perf_counter() - middle))
        return statistics.median(ratios)


class ManyKernels:
    """Compiling and loading 480 different loops."""

    params = ("empty", "filled")
    param_names = ("cache",)
    number = 1
    warmup_time = 0.0

    def setup(self, cache: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.before = os.environ.get("JITTAPE_CACHE_DIR")
        os.environ["JITTAPE_CACHE_DIR"] = self.folder.name
        self.kernels = different_kernels(480)
        if cache == "filled":
            Registry().addresses(self.kernels)

    def teardown(self, cache: str) -> None:
        del os.environ["JITTAPE_CACHE_DIR"]
        if self.before is not None:
            os.environ["JITTAPE_CACHE_DIR"] = self.before
        self.folder.cleanup()

    def time_addresses(self, cache: str) -> None:
        Registry().addresses(self.kernels)


def different_kernels(count: int) -> list[Kernel]:
    """Loops of three to six additions, products and the like, drawn with a fixed seed."""
    operations = (jt.add, jt.multiply, jt.subtract, jt.maximum, jt.minimum, jt.math.squared_difference)
    draw = random.Random(1)
    kernels: dict[str, Kernel] = {}
    while len(kernels) < count:
        builder = Builder(0)
        x, y = (builder.new_slot(Aval((5,), np.dtype(np.float64))) for _ in range(2))
        value = x
        with recording_with(builder):
            for operation in draw.choices(operations, k=draw.randint(3, 6)):
                value = operation(value, y)
        program = Program((x.slot, y.slot), tuple(builder.ops), (value.slot,), builder.avals)
        kernels |= {
            s.kernel.name: s.kernel for s in schedule(simplify(program), target=host_facts).steps if s.kernel
        }
    return list(kernels.values())[:count]
