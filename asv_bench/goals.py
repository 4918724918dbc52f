"""Goals of speed: what `history.py` measures on several commits, and the page of the documentation draws."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["SECTIONS", "Goal"]

US, MS = 1e6, 1e3


class Goal(NamedTuple):
    """A benchmark and its limit.

    Attributes
    ----------
    title : str
    benchmark : str
        Method of a class in ``asv_bench/benchmarks``. Methods ``track_...`` return a number, others are timed.
    parameters : tuple
        Of the method.
    limit : float
        What the number should not exceed, in `unit`.
    unit : str
    scale : float
        Factor from seconds, or from the number of a ``track_...`` method, to `unit`.
    """

    title: str
    benchmark: str
    parameters: tuple[Any, ...]
    limit: float
    unit: str
    scale: float


def op(title: str) -> Goal:
    """Return the goal of an op of `recording.CALLS`: a hundred of them are timed."""
    return Goal(title, "recording.Call.time_100_calls", (title,), 0.3, "µs", US / 100)


def overhead(title: str) -> Goal:
    """Return the goal of a call of `recording.Overhead`, in which NumPy's own share of the time does not count."""
    return Goal(title, "recording.Overhead.track_operators", (title,), 1.0, "x * y", 1.0)


def beside_jax(row: str) -> Goal:
    return Goal(row, "plain_tapes.AgainstJax.track_ratio", (row,), 1.0, "JAX", 1.0)


def beside_hand(title: str, workload: str, limit: float) -> Goal:
    return Goal(title, "kernels.AgainstHand.track_ratio", (workload,), limit, "hand", 1.0)


def network(update: str, limit: float) -> Goal:
    return Goal(f"network, {update}", "plain_tapes.Network.time_step", (update,), limit, "µs", US)


SECTIONS: dict[str, tuple[Goal, ...]] = {
    "Recording an op on a known path": tuple(
        map(op, ("x + y", "np.exp", "cast", "x[0]", "x[0:12]", "x[array]", "x + array", "stack"))
    ),
    "Recording a method or a function of NumPy": tuple(
        map(
            overhead,
            (
                "np.exp(x)",
                "np.sum(x)",
                "np.sum(m, axis=0)",
                "np.stack([x, y])",
                "np.median(x)",
                "jnp.sum(x)",
                "m.sum(axis=0)",
                "m.reshape(6, 4)",
            ),
        )
    ),
    "Plain tapes beside JAX, jitted": tuple(
        map(
            beside_jax,
            (
                "rosenbrock, n=10",
                "rosenbrock, n=1,000",
                "LSTM, T=50, H=32, B=16",
                "Hessian of rosenbrock, n=100",
                "Adam written out, 20 arrays",
            ),
        )
    ),
    "Plain tapes": (
        network("by hand", 20),
        network("SGD", 25),
        network("Adam", 30),
        Goal("op and look", "recording.Look.time_op_and_look", ("numpy",), 2, "µs", US),
        Goal(
            "observation of a camera",
            "plain_tapes.BundleAdjustment.time_100_observations",
            (),
            100,
            "µs",
            US / 100,
        ),
    ),
    "Long programs": (
        Goal(
            "LSTM of 1,024 steps, the call that compiles",
            "long_programs.UnrolledLSTM.track_compiling_call",
            (1024,),
            2,
            "s",
            1,
        ),
        Goal("the same in the next process", "long_programs.NextProcess.track_second_call", (), 0.3, "s", 1),
        Goal("memory of that process", "long_programs.NextProcess.track_peak_memory", (), 250, "MB", 1),
        Goal("100,000 ops and their gradient", "long_programs.Chain.track_two_calls", (), 5, "s", 1),
    ),
    "New lengths and the start of a process": (
        Goal("new length, function", "function.Lengths.time_new_length", (), 0.2, "ms", MS),
        Goal("new length, plain loop", "function.LengthsOfLoop.time_new_length", (), 0.2, "ms", MS),
        Goal("first gradient, filled cache", "startup.FirstGradient.time_process", ("filled",), 0.14, "s", 1),
        # The goal above, on a machine on which a process that imports NumPy takes 0.08 s.
        Goal(
            "first gradient over importing NumPy",
            "startup.FirstGradientOverNumpy.track_ratio",
            (),
            1.75,
            "NumPy",
            1,
        ),
    ),
    "Compiled functions": (
        Goal("call of a function", "function.Overhead.time_tensors", (), 0.7, "µs", US),
        Goal(
            "call whose result is kept", "recording.Results.time_1000_calls", ("kept",), 1.5, "µs", US / 1000
        ),
        Goal(
            "Gauss-Seidel 40x40 and gradient",
            "control.GaussSeidel.time_value_and_gradient",
            (),
            0.73,
            "ms",
            MS,
        ),
        beside_hand("elementwise 1e5", "elementwise 1e5", 1.1),
        beside_hand("rosenbrock 1e6", "rosenbrock 1e6", 1.1),
    ),
}
