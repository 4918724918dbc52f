"""Long programs: unrolled loops of many steps, whose ops repeat."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import jittape as jt
from jittape.recording.trie import trie


class UnrolledLSTM:
    """The loss of a two-layer LSTM with the gradients of all weights, on a plain tape: some 140 ops a step."""

    params = (64, 256, 1024)
    param_names = ("steps",)
    unit = "s"
    batch, units, layers = 8, 32, 2
    timeout = 300

    def setup(self, steps: int) -> None:
        jt.config.cache = False
        self.prepare(steps)

    def prepare(self, steps: int) -> None:
        rng = np.random.default_rng(0)
        shape = (2 * self.units, 4 * self.units)
        self.weights = [
            jt.Variable(0.1 * rng.normal(size=shape).astype(np.float32)) for _ in range(self.layers)
        ]
        self.biases = [jt.Variable(np.zeros(4 * self.units, np.float32)) for _ in range(self.layers)]
        sequence = rng.normal(size=(steps, self.batch, self.units)).astype(np.float32)
        self.sequence = [jt.constant(x) for x in sequence]

    def step(self) -> float:
        zeros = jt.constant(np.zeros((self.batch, self.units), np.float32))
        hidden, cells, loss = [zeros] * self.layers, [zeros] * self.layers, 0.0
        with jt.GradientTape() as tape:
            for x in self.sequence:
                for layer in range(self.layers):
                    gates = jt.concat([x, hidden[layer]], axis=1) @ self.weights[layer] + self.biases[layer]
                    i, f, g, o = jt.split(gates, 4, axis=1)
                    cells[layer] = jt.sigmoid(f) * cells[layer] + jt.sigmoid(i) * jt.tanh(g)
                    x = hidden[layer] = jt.sigmoid(o) * jt.tanh(cells[layer])
                loss = loss + jt.reduce_sum(x * x)
        gradients = tape.gradient(loss, [*self.weights, *self.biases])
        gradients[0].numpy()
        return float(loss)

    def track_first_call(self, steps: int) -> float:
        """Processor time of recording and deriving, and of interpreting or compiling."""
        trie.clear()
        return self.processor_time()

    def track_compiling_call(self, steps: int) -> float:
        """Processor time of the slower of the first two calls, which schedules and compiles."""
        trie.clear()
        return max(self.processor_time(), self.processor_time())

    def track_warm_call(self, steps: int) -> float:
        for _ in range(2):
            self.step()
        return min([self.processor_time() for _ in range(5)])

    def teardown(self, steps: int) -> None:
        jt.config.cache = True

    def processor_time(self) -> float:
        began = time.process_time()
        self.step()
        return time.process_time() - began


class NextProcess:
    """The second call of `UnrolledLSTM` in a process that finds all its kernels on disk, and the peak of its memory."""

    timeout = 300

    def setup(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.run()

    def teardown(self) -> None:
        self.folder.cleanup()

    def run(self) -> list[float]:
        """Return the seconds of processor time and the MB of a new process."""
        environment = os.environ | {
            "JITTAPE_CACHE_DIR": self.folder.name,
            "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent.parent)]),
        }
        command = [sys.executable, "-c", f"from {__name__} import second_call; second_call()"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return [float(number) for number in done.stdout.split()]

    def track_second_call(self) -> float:
        return self.run()[0]

    track_second_call.unit = "s"  # type: ignore[attr-defined]

    def track_peak_memory(self) -> float:
        return self.run()[1]

    track_peak_memory.unit = "MB"  # type: ignore[attr-defined]


def second_call() -> None:
    """Print the processor time of the second call of 1,024 steps, and the peak of the memory of this process."""
    program = UnrolledLSTM()
    program.prepare(1024)
    program.step()
    print(program.processor_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


class Chain:
    """100,000 ops in one recording, with the gradient: processor time of the first two calls."""

    unit = "s"
    timeout = 300

    def track_two_calls(self) -> float:
        jt.config.cache = False
        trie.clear()
        began = time.process_time()
        for _ in range(2):
            x = jt.constant(np.ones(8))
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(50_000):
                    y = jt.sin(y) * 1.01
            tape.gradient(y, x).numpy()
        jt.config.cache = True
        return time.process_time() - began
