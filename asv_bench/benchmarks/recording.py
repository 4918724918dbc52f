"""Cost of recording an op: only the walk in the trie, no arithmetic."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt
import jittape.numpy as jnp

_X, _Y, _M = (jt.constant(np.ones(shape)) for shape in (24, 24, (4, 6)))
_ARRAY = np.ones(24)
_ROWS = np.array([0, 3, 2, 5])
CALLS: dict[str, Callable[[], Any]] = {
    "x + y": lambda: _X + _Y,
    "x ** 2": lambda: _X**2,
    "np.exp": lambda: np.exp(_X),
    "cast": lambda: jt.cast(_X, jt.float32),
    "x[0]": lambda: _X[0],
    "x[0:12]": lambda: _X[0:12],
    "x[::-1]": lambda: _X[::-1],
    "m[:, 0]": lambda: _M[:, 0],
    "x[array]": lambda: _X[_ROWS],
    "x + array": lambda: _X + _ARRAY,
    "float64 * x": lambda: np.float64(2.0) * _X,
    "stack": lambda: jt.stack([_X, _Y]),
    "sum": lambda: _M.sum(0),
    "unstack": lambda: jt.unstack(_M),
}


class Call:
    """A hundred equal calls on a known path; nothing is computed."""

    params = tuple(CALLS)
    param_names = ("call",)

    def setup(self, call: str) -> None:
        for _ in range(120):  # machine code records repeated loops
            float(jt.reduce_sum(_X))
        for _ in range(3):
            self.time_100_calls(call)

    def time_100_calls(self, call: str) -> None:
        run = CALLS[call]
        with jt.GradientTape():
            for _ in range(100):
                run()


class Untouched:
    """An operand whose methods of NumPy's protocols do nothing, so that a call takes NumPy's own share."""

    __slots__ = ()
    __array_function__ = __array_ufunc__ = "".format


_FORMS = (
    "np.exp(x)", "np.multiply(x, y)", "np.maximum(x, 0.0)", "np.power(x, 2)", "np.sum(x)", "np.sum(m, axis=0)",
    "np.mean(m, axis=0, keepdims=True)", "np.reshape(m, (6, 4))", "np.dot(x, y)", "np.where(x, x, y)",
    "np.clip(x, 0.0, 1.0)", "np.stack([x, y])", "np.concatenate([x, y])", "np.einsum('i,i->', x, y)", "np.median(x)",
    "np.quantile(x, 0.5)", "np.tile(x, 2)", "np.zeros_like(x)", "np.linalg.norm(x)", "np.split(x, 2)", "np.pad(x, 1)",
    "np.pad(x, 1, 'edge')", "np.insert(x, 1, 2.0)", "np.delete(x, 3)", "np.take(x, 3)", "np.take(x, [0, 3])",
    "jnp.exp(x)", "jnp.add(x, y)", "jnp.sum(x)", "jnp.sum(m, axis=0)", "jnp.where(x, x, y)", "jnp.stack([x, y])",
    "jnp.tile(x, 2)", "x.sum()", "m.sum(axis=0)", "m.reshape(6, 4)", "m.T", "x.clip(0.0, 1.0)",
    "x.astype(np.float32)", "x.take([0, 3])",
)  # fmt: skip


class Overhead:
    """What a call takes on a known path above NumPy's own share, in units of ``x * y``, which takes 0.17 µs.

    NumPy's share is the time of the same call with operands whose methods of NumPy's protocols do nothing: 0.21 to 0.52
    µs. It contains the look-up of names. Functions of `jittape.numpy` and methods have no such share, so the look-up of
    their names counts. Most methods take 1.0 to 1.2, functions of one or two operands 1.1 to 1.4. Above that are calls
    whose arguments are compared one by one: ``keepdims=True`` 1.3 (method) to 2 (function), lists of operands and texts
    1.7 to 1.9; several results, as of ``split``, are several tensors: 1.9. Calls with a list of indices run in Python:
    16 to 26.
    """

    params = _FORMS
    param_names = ("call",)
    unit = "operators"

    def setup(self, call: str) -> None:
        for _ in range(120):  # machine code records repeated loops
            float(jt.reduce_sum(_X))

    def track_operators(self, call: str) -> float:
        tensors = {"x": _X, "y": _Y, "m": _M}
        untouched = dict.fromkeys(tensors, Untouched())
        empty = _seconds(_made("None", tensors))
        floor = _seconds(_made(call, untouched)) if call.startswith("np.") else empty
        operator = _seconds(_made("x * y", tensors)) - empty
        return (_seconds(_made(call, tensors)) - floor) / operator


def _made(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    made: Callable[[], Any] = eval(f"lambda: {text}", {"np": np, "jnp": jnp, **names})
    return made


def _seconds(run: Callable[[], Any]) -> float:
    """Return the least time of a call in a tape, in seconds of the thread."""
    least = float("inf")
    for _ in range(30):
        with jt.GradientTape():
            begin = time.thread_time_ns()
            for _ in range(100):
                run()
            least = min(least, time.thread_time_ns() - begin)
    return least * 1e-11


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


class Results:
    """A thousand calls of a small function whose results are dropped or kept."""

    params = ("dropped", "kept")
    param_names = ("results",)

    def setup(self, results: str) -> None:
        self.double = jt.function(lambda x: x * 2.0)
        self.time_1000_calls(results)

    def time_1000_calls(self, results: str) -> None:
        kept = []
        for _ in range(1_000):
            result = self.double(_X)
            if results == "kept":
                kept.append(result)


class Look:
    """An op and the look at its result."""

    params = ("numpy", "item")
    param_names = ("method",)

    def setup(self, method: str) -> None:
        self.x = jt.constant(np.ones(1))
        for _ in range(120):
            self.time_op_and_look(method)

    def time_op_and_look(self, method: str) -> None:
        getattr(self.x * 2.0, method)()


class Tape:
    """A tape around one op, and its gradient or Jacobian, which is not read."""

    params = ("empty", "gradient", "gradient of list", "jacobian")
    param_names = ("method",)

    def setup(self, method: str) -> None:
        self.v = jt.Variable(np.ones(24))
        for _ in range(120):
            float(jt.reduce_sum(_X))
            self.time_tape(method)

    def time_tape(self, method: str) -> None:
        with jt.GradientTape() as tape:
            if method != "empty":
                y = self.v * self.v
        if method == "jacobian":
            tape.jacobian(y, self.v)
        elif method != "empty":
            tape.gradient(y, self.v if method == "gradient" else [self.v])
