"""The workloads of the benchmarks, smaller: recorded and as a `jt.function` they give what NumPy gives by hand."""

import sys
from pathlib import Path
from typing import Any

import pytest

import jittape as jt

sys.path.append(str(Path(__file__).parent.parent / "asv_bench"))

from workloads.base import Workload, relative_error
from workloads.elementwise import Chain, Rosenbrock, RosenbrockHessian
from workloads.logistic import Logistic, LogisticHvp
from workloads.loops import AdamByHand, UndecoratedRegression
from workloads.mlp import AdamMlp, SgdMlp
from workloads.models import AsianOption, Bodies, Mixture
from workloads.nets import GradientPenalty, Lstm


def smaller(workload: Workload, **sizes: Any) -> Workload:
    for name, value in sizes.items():
        assert name in dir(workload)
        setattr(workload, name, value)
    return workload


WORKLOADS = [
    Rosenbrock(50, ""),
    smaller(RosenbrockHessian()),
    Chain(1_000, ""),
    Logistic(200, 5, ""),
    smaller(LogisticHvp(), n=300, d=7),
    SgdMlp(8, ""),
    AdamMlp(8, ""),
    smaller(Mixture(), d=3, k=4, n=50),
    smaller(AsianOption(), steps=12, paths=200),
    smaller(Lstm(), steps=4, units=6, batch=3),
    GradientPenalty(),
    Bodies(),
    AdamByHand(),
    UndecoratedRegression(100, ""),
]
WAYS = {"recorded": lambda function: function, "function": jt.function}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: w.name)
def test_every_step_gives_what_numpy_gives(workload, way):
    workload.data()
    side, by_hand = workload.tape(jt, WAYS[way]), workload.numpy()
    for _ in range(4):
        found, expected = side.values(side.run()), by_hand.values(by_hand.run())
        assert relative_error(found, expected) <= max(workload.tolerance, 1e-9)
