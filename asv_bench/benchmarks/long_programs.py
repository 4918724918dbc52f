"""Long programs: unrolled loops of many steps, whose ops repeat."""

import time

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
        """Processor time of recording, deriving and interpreting."""
        trie.clear()
        return self.processor_time()

    def track_second_call(self, steps: int) -> float:
        """Processor time of scheduling and compiling."""
        trie.clear()
        self.step()
        return self.processor_time()

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
