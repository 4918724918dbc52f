"""Repeated optimizer updates with given gradients."""

import numpy as np

import jittape as jt

NAMES = ("SGD", "Adam", "AdamW", "Adamax", "Nadam", "RMSprop", "Adagrad", "Adadelta", "Ftrl", "Lion")
OPTIONS = {
    "none": {},
    "weight_decay": {"weight_decay": 0.01},
    "clipnorm": {"clipnorm": 1.0},
    "global_clipnorm": {"global_clipnorm": 1.0},
    "use_ema": {"use_ema": True, "ema_overwrite_frequency": 10},
    "schedule": {"learning_rate": jt.optimizers.schedules.CosineDecay(0.1, 1_000, warmup_target=0.2)},
}


class Updates:
    """A step of an optimizer on arrays of given sizes."""

    def prepare(self, optimizer: jt.optimizers.Optimizer, sizes: np.ndarray, how: str) -> None:
        rng = np.random.default_rng(0)
        variables = [jt.Variable(rng.normal(size=n)) for n in sizes]
        self.gradients = [jt.constant(rng.normal(size=n)) for n in sizes]

        def step(gradients: list[jt.Tensor]) -> None:
            optimizer.apply_gradients(zip(gradients, variables, strict=True))

        def recorded(gradients: list[jt.Tensor]) -> None:
            step(gradients)
            int(optimizer.iterations)

        self.step = jt.function(step) if how == "function" else recorded
        for _ in range(4):
            self.step(self.gradients)


class AdamOnManySmallArrays(Updates):
    """200 arrays of 10 to 100 elements."""

    params = ("function", "recorded")
    param_names = ("how",)

    def setup(self, how: str) -> None:
        self.prepare(jt.optimizers.Adam(0.001), np.resize(np.arange(10, 101), 200), how)

    def time_step(self, how: str) -> None:
        self.step(self.gradients)

    def track_kernel_calls(self, how: str) -> int:
        self.step(self.gradients)
        return len(jt.explain().steps)


class AdamOnLargeArrays(Updates):
    """20 arrays of 100 to 100,000 elements, as in the table of peers."""

    params = ("function", "recorded")
    param_names = ("how",)

    def setup(self, how: str) -> None:
        self.prepare(jt.optimizers.Adam(0.001), np.geomspace(100, 100_000, 20).astype(int), how)

    def time_step(self, how: str) -> None:
        self.step(self.gradients)


class EachOptimizer(Updates):
    """Ten arrays of 1,000 elements."""

    params = NAMES
    param_names = ("name",)

    def setup(self, name: str) -> None:
        self.prepare(getattr(jt.optimizers, name)(0.001), np.full(10, 1_000), "function")

    def time_step(self, name: str) -> None:
        self.step(self.gradients)


class Options(Updates):
    """Adam on 20 arrays of 1,000 elements, with each option."""

    params = tuple(OPTIONS)
    param_names = ("option",)

    def setup(self, option: str) -> None:
        self.prepare(jt.optimizers.Adam(**OPTIONS[option]), np.full(20, 1_000), "function")

    def time_step(self, option: str) -> None:
        self.step(self.gradients)
