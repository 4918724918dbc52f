"""Plain tape loops: rows of the table of peers beside JAX, a small network, and many small Jacobians."""

import importlib.util
import time

import numpy as np

import jittape as jt
from workloads.rows import ROWS

BY_NAME = {row.name: row for row in ROWS}
ROUNDS = 40
TURN = 2e-3
"""Duration, in seconds, of a turn."""
WARM = 400
"""Runs before the first turn: machine code records loops that repeat."""


class AgainstJax:
    """Time of the plain tape as a multiple of that of the jitted function of JAX, on one thread; least turns."""

    params = (
        "sin(x) * x, n=1",
        "rosenbrock, n=10",
        "rosenbrock, n=1,000",
        "LSTM, T=50, H=32, B=16",
        "Hessian of rosenbrock, n=100",
        "Adam written out, 20 arrays",
    )
    param_names = ("row",)
    unit = "ratio"

    def setup(self, name: str) -> None:
        if importlib.util.find_spec("jax") is None:
            raise NotImplementedError
        import jax

        jax.config.update("jax_enable_x64", True)
        jt.config.threads = 1
        row = BY_NAME[name]
        row.data()
        row.plain_tape = True
        self.sides = row.jittape(), row.jax()
        row.plain_tape = False
        for side in self.sides:
            for _ in range(WARM):
                side.run()

    def track_ratio(self, name: str) -> float:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for taken, side in zip(times, self.sides, strict=True):
                taken.append(self.turn(side.run))
        ours, theirs = map(min, times)
        return ours / theirs

    @staticmethod
    def turn(run) -> float:
        runs, began = 0, time.perf_counter()
        while time.perf_counter() - began < TURN:
            run()
            runs += 1
        return (time.perf_counter() - began) / runs


class Network:
    """A step of a network of two layers (20, 16, 1 units, batch 32, float32)."""

    params = ("by hand", "SGD", "Adam")
    param_names = ("update",)

    def setup(self, update: str) -> None:
        rng = np.random.default_rng(0)
        shapes = (20, 16), (16,), (16, 1), (1,)
        self.weights = [jt.Variable(0.1 * rng.normal(size=shape).astype(np.float32)) for shape in shapes]
        self.x, self.y = (jt.constant(rng.normal(size=(32, n)).astype(np.float32)) for n in (20, 1))
        self.optimizer = None if update == "by hand" else getattr(jt.optimizers, update)(1e-3)
        for _ in range(WARM):
            self.time_step(update)

    def time_step(self, update: str) -> None:
        w, b, v, c = self.weights
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(jt.tanh(self.x @ w + b) @ v + c - self.y))
        gradients = tape.gradient(loss, self.weights)
        if self.optimizer is None:
            for weight, gradient in zip(self.weights, gradients, strict=True):
                weight.assign_sub(1e-3 * gradient)
        else:
            self.optimizer.apply_gradients(zip(gradients, self.weights, strict=True))


class BundleAdjustment:
    """A hundred observations of points by cameras: for each, two Jacobians on a persistent tape, read as arrays.

    A camera has a rotation vector, a translation, a focal length and two coefficients of distortion, as in the data
    sets of "Bundle Adjustment in the Large" (S. Agarwal et al., 2010).
    """

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        shift = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -6.0, 1.0, 0.0, 0.0])
        self.cameras = [jt.constant(shift + 0.1 * rng.normal(size=9)) for _ in range(100)]
        self.points = [jt.constant(rng.normal(size=3)) for _ in range(100)]
        for _ in range(5):
            self.time_100_observations()

    @staticmethod
    def projection(camera, point):
        """Return the image coordinates of a point."""
        rotation, translation = camera[0:3], camera[3:6]
        angle = jt.sqrt(jt.reduce_sum(rotation * rotation))
        axis = rotation / angle
        cross = jt.stack(
            [
                axis[1] * point[2] - axis[2] * point[1],
                axis[2] * point[0] - axis[0] * point[2],
                axis[0] * point[1] - axis[1] * point[0],
            ]
        )
        along = axis * (jt.reduce_sum(axis * point) * (1.0 - jt.cos(angle)))
        seen = point * jt.cos(angle) + cross * jt.sin(angle) + along + translation
        flat = -seen[0:2] / seen[2]
        squares = jt.reduce_sum(flat * flat)
        return flat * (camera[6] * (1.0 + squares * (camera[7] + camera[8] * squares)))

    def time_100_observations(self) -> None:
        for camera, point in zip(self.cameras, self.points, strict=True):
            with jt.GradientTape(persistent=True) as tape:
                tape.watch([camera, point])
                seen = self.projection(camera, point)
            tape.jacobian(seen, camera).numpy()
            tape.jacobian(seen, point).numpy()
