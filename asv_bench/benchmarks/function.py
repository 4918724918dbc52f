"""Overhead of calls of compiled functions, and whole steps as one call."""

import statistics
import timeit

import numpy as np

import jittape as jt
from jittape.compile.cache.kernel_cache import registry

SMALL = 10


class Overhead:
    """Two ndarrays in, two results out."""

    def setup(self) -> None:
        self.x, self.y = np.arange(float(SMALL)), np.ones(SMALL)
        self.tensors = jt.constant(self.x), jt.constant(self.y)
        self.function = jt.function(lambda x, y: (jt.reduce_sum(x * y), x + y))
        self.scaled = jt.function(lambda x, a: x * a)
        self.nested = jt.function(lambda batch: batch["x"] * batch["y"])
        for _ in range(3):
            self.time_arrays()
            self.time_tensors()
            self.time_float()
            self.time_int()
            self.time_dict()

    def time_arrays(self) -> None:
        self.function(self.x, self.y)

    def time_arrays_to_numpy(self) -> None:
        total, both = self.function(self.x, self.y)
        total.numpy()
        both.numpy()

    def time_tensors(self) -> None:
        self.function(*self.tensors)

    def time_float(self) -> None:
        self.scaled(self.x, 0.5)

    def time_int(self) -> None:
        self.scaled(self.x, 3)

    def time_dict(self) -> None:
        self.nested({"x": self.x, "y": self.y})


class Steps:
    """Calls that assign six Variables or return what they assign, and methods."""

    def setup(self) -> None:
        self.x = jt.constant(np.ones(SMALL))
        self.variables = [jt.Variable(np.ones(SMALL)) for _ in range(6)]
        self.other = jt.Variable(np.ones(SMALL))
        self.function = jt.function(self.assigned)
        self.argument = jt.function(lambda v, x: v * x)
        self.returned = jt.function(lambda x: self.other.assign_sub(x))
        for _ in range(300):
            self.time_assignments()
            self.time_returned_assignment()
            self.time_method()
            self.time_variable_argument()

    def assigned(self, x: jt.Tensor) -> None:
        for v in self.variables:
            v.assign_add(x)

    @jt.function
    def scaled(self, x: jt.Tensor) -> jt.Tensor:
        return x * self.other

    def time_assignments(self) -> None:
        self.function(self.x)

    def time_returned_assignment(self) -> None:
        self.returned(self.x)

    def time_method(self) -> None:
        self.scaled(self.x)

    def time_variable_argument(self) -> None:
        self.argument(self.other, self.x)


class ManyArrays:
    """`Overhead` with more arguments."""

    params = (2, 12, 22)
    param_names = ("arrays",)

    def setup(self, arrays: int) -> None:
        self.arguments = [np.full(4, float(i)) for i in range(arrays)]
        self.function = jt.function(lambda *xs: (jt.add_n(list(xs)), xs[0] * 2.0))
        for _ in range(3):
            self.time_call(arrays)

    def time_call(self, arrays: int) -> None:
        self.function(*self.arguments)


class Rosenbrock:
    """Value and gradient."""

    params = (10, 1_000, 1_000_000)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        @jt.function
        def value_and_gradient(x):
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
            return y, tape.gradient(y, x)

        self.function = value_and_gradient
        self.x = np.linspace(-1.0, 1.0, n)
        for _ in range(3):
            self.time_call(n)

    def time_call(self, n: int) -> None:
        self.function(self.x)


class AdamOnTwentyArrays:
    """A training step that reads and assigns 61 Variables."""

    def setup(self) -> None:
        weights = [jt.Variable(np.ones(100)) for _ in range(20)]
        optimizer = jt.optimizers.Adam(0.001)

        @jt.function
        def step(scale):
            with jt.GradientTape() as tape:
                loss = jt.add_n([jt.reduce_sum(w * w) for w in weights]) * scale
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        self.step = step
        for _ in range(3):
            self.time_step()

    def time_step(self) -> None:
        self.step(0.5)


class DigitsStep:
    """The classifier of the demo, with minibatches selected inside and another learning rate at each step."""

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        images, labels = rng.normal(size=(1024, 64)).astype(np.float32), rng.integers(10, size=1024)
        model = jt.nn.Sequential(
            [
                jt.nn.Dense(128, "relu", input_dim=64),
                jt.nn.Dense(64, "relu", input_dim=128),
                jt.nn.Dense(10, input_dim=64),
            ]
        )
        self.optimizer = optimizer = jt.optimizers.Adam(0.001)

        @jt.function
        def step(start):
            with jt.GradientTape() as tape:
                logits = model(jt.constant(images)[start : start + 32])
                batch = jt.constant(labels)[start : start + 32]
                loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(batch, logits))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        self.step = step
        self.count = 0
        for _ in range(3):
            self.time_step()

    def time_step(self) -> None:
        self.count += 1
        self.optimizer.learning_rate = 0.001 / self.count
        self.step(self.count % 30 * 32)

    def track_python_time(self) -> float:
        """Return the time of a step without its kernels, in µs."""
        concrete = self.step._recent
        compiled = concrete.compiled
        inputs = concrete.inputs((32,), concrete.scalars.run((32,)))
        results = compiled.run(inputs, 1)
        (table,), workspace = compiled.tables, compiled.free_workspaces[-1]
        drive = registry.driver()

        def kernels() -> None:
            drive(table, workspace.address, workspace.stacks_address)

        step, alone = (
            statistics.median(timeit.repeat(f, number=50, repeat=41)) / 50 for f in (self.time_step, kernels)
        )
        del results
        return (step - alone) * 1e6

    track_python_time.unit = "µs"

    def track_signatures(self) -> int:
        self.time_step()
        return len(self.step.signatures())


class FirstCall:
    """Tracing, compiling and running, without importing Numba."""

    number = 1
    repeat = 5
    warmup_time = 0

    def setup(self) -> None:
        jt.function(lambda x: x + 1.0)(np.ones(3))
        self.x = np.arange(float(SMALL))

    def time_first_call(self) -> None:
        jt.function(lambda x: jt.reduce_sum(jt.square(x) * 3.0))(self.x)


class Lengths:
    """A training step of a linear model, called with a new length each time."""

    number, warmup_time, repeat = 200, 0.0, 3

    def setup(self) -> None:
        weights = jt.Variable(np.zeros((3, 1)))

        @jt.function(
            input_signature=[jt.TensorSpec([None, 3], jt.float64), jt.TensorSpec([None, 1], jt.float64)]
        )
        def step(x, y):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(x @ weights - y))
            weights.assign_sub(0.01 * tape.gradient(loss, weights))
            return loss

        rng = np.random.default_rng(0)
        self.x, self.y = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 1))
        self.step, self.length = step, 100
        for _ in range(3):
            self.time_new_length()

    def time_new_length(self) -> None:
        self.length += 1
        self.step(self.x[: self.length], self.y[: self.length])


class LengthsOfLoop:
    """A training step of a linear model as a plain loop, with a new length each time."""

    number, warmup_time, repeat = 200, 0.0, 3

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        self.weights = jt.Variable(np.zeros((3, 1)))
        self.x, self.y = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 1))
        self.length = 100
        for _ in range(3):
            self.time_new_length()

    def time_new_length(self) -> None:
        self.length += 1
        x, y = jt.constant(self.x[: self.length]), jt.constant(self.y[: self.length])
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(x @ self.weights - y))
        self.weights.assign_sub(0.01 * tape.gradient(loss, self.weights))
        float(loss)
