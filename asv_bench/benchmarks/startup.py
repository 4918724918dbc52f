"""What a process pays once: the import, and machine code for a path seen for the second time."""

import subprocess
import sys

# Three visits of one path: interpreted, compiled, found.
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
    """Each timing is a process of its own."""

    def timeraw_import_numpy(self) -> str:
        return "import numpy"

    def timeraw_import_jittape(self) -> str:
        return "import jittape"

    timeraw_import_numpy.number = timeraw_import_jittape.number = 1  # a second import costs nothing


class CompilePath:
    """Compile time of the textbook step as `jittape.stats` counts it, in a process of its own."""

    unit = "s"

    def track_compile_seconds(self) -> float:
        program = FIRST_STEPS + "print(jt.stats().compile_seconds)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(done.stdout)
