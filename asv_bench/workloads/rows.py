"""The rows of the table."""

from workloads.base import Workload
from workloads.convolutional import ConvolutionalNet
from workloads.elementwise import Chain, Rosenbrock, RosenbrockHessian, Sine
from workloads.logistic import Logistic, LogisticHvp
from workloads.loops import AdamByHand, UndecoratedRegression
from workloads.mlp import AdamMlp, SgdMlp, UndecoratedMlp
from workloads.models import AsianOption, Bodies, Mixture
from workloads.nets import GradientPenalty, Lstm

__all__ = ["ROWS"]

ROWS: list[Workload] = [
    Sine(),
    Rosenbrock(10, "2 us"),
    Rosenbrock(1_000, "2.5 us"),
    Rosenbrock(1_000_000, "1.3 hand"),
    Logistic(1_000, 20, "1.5 hand"),
    Logistic(100_000, 100, "1.25 hand"),
    SgdMlp(32, "1.0 hand"),
    SgdMlp(256, "1.0 hand"),
    AdamMlp(32, "1.05 hand"),
    AdamMlp(256, "1.05 hand"),
    Chain(1_000, "2 hand"),
    Chain(100_000, "1.2 hand"),
    Chain(10_000_000, "1.2 hand"),
    Chain(1_000, "2 hand", "float32"),
    Chain(100_000, "1.2 hand", "float32"),
    Chain(10_000_000, "1.2 hand", "float32"),
    Mixture(),
    AsianOption(),
    Lstm(),
    ConvolutionalNet(),
    GradientPenalty(),
    LogisticHvp(),
    RosenbrockHessian(),
    Bodies(),
    AdamByHand(),
    UndecoratedRegression(100, "12 us"),
    UndecoratedRegression(10_000, "14 us"),
    UndecoratedMlp(32, "150 us"),
]
