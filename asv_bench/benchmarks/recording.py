"""Cost of recording an op: only the walk in the trie, no arithmetic."""

import numpy as np

import jittape as jt


class Recording:
    """A hundred ops recorded on a known path; the result is never read, so nothing is computed."""

    def setup(self) -> None:
        self.x = jt.constant(np.ones(8, np.float32))
        self.y = jt.constant(np.ones(8, np.float32))
        for _ in range(120):  # machine code records repeated loops
            float(jt.reduce_sum(self.x))
        for _ in range(3):
            self.time_100_binary_ops()
            self.time_100_unary_ops()
            self.time_100_ops_and_their_gradient()

    def time_100_binary_ops(self) -> None:
        with jt.GradientTape():
            out = self.x
            for _ in range(100):
                out = out * self.y

    def time_100_unary_ops(self) -> None:
        with jt.GradientTape():
            out = self.x
            for _ in range(100):
                out = jt.sin(out)

    def time_100_ops_and_their_gradient(self) -> None:
        with jt.GradientTape() as tape:
            tape.watch(self.x)
            out = self.x
            for _ in range(100):
                out = out * self.y
        tape.gradient(out, self.x)
