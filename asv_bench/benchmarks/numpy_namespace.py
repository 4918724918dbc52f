"""Functions of `jittape.numpy` beside the operators and the functions of `jt` that record the same ops."""

import numpy as np

import jittape as jt
import jittape.numpy as jnp


class Overhead:
    """A hundred calls on a known path; the result is never read, so nothing is computed."""

    params = ("operator", "jt", "jittape.numpy", "numpy")
    param_names = ("spelling",)

    def setup(self, spelling: str) -> None:
        self.x = jt.constant(np.ones(8))
        self.multiply = {
            "operator": lambda x: x * x,
            "jt": lambda x: jt.multiply(x, x),
            "jittape.numpy": lambda x: jnp.multiply(x, x),
            "numpy": lambda x: np.multiply(x, x),
        }[spelling]
        self.total = {
            "operator": lambda x: x.sum(),  # a method
            "jt": jt.reduce_sum,
            "jittape.numpy": jnp.sum,
            "numpy": np.sum,
        }[spelling]
        for _ in range(120):  # machine code records repeated loops
            float(self.total(self.x))
        for _ in range(3):
            self.time_100_products(spelling)
            self.time_100_sums(spelling)

    def time_100_products(self, spelling: str) -> None:
        multiply = self.multiply
        with jt.GradientTape():
            out = self.x
            for _ in range(100):
                out = multiply(out)

    def time_100_sums(self, spelling: str) -> None:
        total = self.total
        with jt.GradientTape():
            for _ in range(100):
                total(self.x)
