"""Cost of NumPy's functions on a known path, beside the operator, the method and jittape's own function."""

from collections.abc import Callable

import numpy as np

import jittape as jt


class NumPyCalls:
    """A hundred recorded calls; the result is never read, so nothing is computed."""

    params = (
        "x + y",
        "np.add",
        "jt.sin",
        "np.sin",
        "x.sum()",
        "np.sum",
        "jt.sort",
        "np.sort",
        "np.median",
        "np.hypot",
        "np.concatenate",
        "x + frozen",
        "jt.constant",
    )
    param_names = ("call",)

    def setup(self, call: str) -> None:
        self.x = jt.constant(np.ones(8))
        self.y = jt.constant(np.ones(8))
        self.frozen = np.ones(8)
        self.frozen.flags.writeable = False
        calls: dict[str, Callable[[], object]] = {
            "x + y": lambda: self.x + self.y,
            "np.add": lambda: np.add(self.x, self.y),
            "jt.sin": lambda: jt.sin(self.x),
            "np.sin": lambda: np.sin(self.x),
            "x.sum()": lambda: self.x.sum(),
            "np.sum": lambda: np.sum(self.x),
            "jt.sort": lambda: jt.sort(self.x),
            "np.sort": lambda: np.sort(self.x),
            "np.median": lambda: np.median(self.x),
            "np.hypot": lambda: np.hypot(self.x, self.y),
            "np.concatenate": lambda: np.concatenate([self.x, self.y]),
            "x + frozen": lambda: self.x + self.frozen,
            "jt.constant": lambda: jt.constant(self.frozen),
        }
        self.call = calls[call]
        for _ in range(120):  # machine code records repeated loops
            float(jt.reduce_sum(self.x))
        for _ in range(3):
            self.time_100_calls(call)

    def time_100_calls(self, call: str) -> None:
        with jt.GradientTape():
            for _ in range(100):
                self.call()
