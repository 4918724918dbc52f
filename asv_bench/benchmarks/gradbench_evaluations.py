"""The evaluations of GradBench; JAX, PyTorch and autograd where they are installed."""

import importlib.util

import jittape as jt
from gradbench import EVALUATIONS

BY_TITLE = {evaluation.title: evaluation for evaluation in EVALUATIONS}
LIBRARIES = ["jittape", "jax", "torch", "autograd"]
ENDLESS = {(title, library) for title in ("particle", "saddle") for library in ("torch", "autograd")} | {
    ("ht", "autograd"), ("lstm", "torch"), ("lstm", "autograd")
}  # fmt: skip
"""Evaluations that take seconds a run."""


class Evaluations:
    """One run on one thread, compiled beforehand."""

    params = (list(BY_TITLE), LIBRARIES)
    param_names = ("evaluation", "library")
    timeout = 120

    def setup(self, title: str, library: str) -> None:
        if (title, library) in ENDLESS or importlib.util.find_spec(library) is None:
            raise NotImplementedError
        jt.config.threads = 1
        if library == "jax":
            import jax

            jax.config.update("jax_enable_x64", True)
        elif library == "torch":
            import torch

            torch.set_num_threads(1)
        evaluation = BY_TITLE[title]
        evaluation.data()
        self.side = evaluation.side(library)
        for _ in range(3):
            self.side.run()

    def time_run(self, title: str, library: str) -> None:
        self.side.run()
