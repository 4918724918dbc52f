"""The twelve evaluations of GradBench as programs of jittape, JAX, PyTorch and autograd.

The problems are those of GradBench and ADBench (Šrajer et al., 2018), cmpad, and Pearlmutter and Siskind (2008); the
code is new, and the data are random numbers. Each program is written once, with the functions and transformations of
`Library`. Sizes are among those that GradBench runs.
"""

from __future__ import annotations

from gradbench.descent import Particle, Saddle
from gradbench.estimation import Clusters, Hello, LeastSquares, LogSumExp, Mixture
from gradbench.evaluation import Evaluation
from gradbench.sequences import Determinant, Equation, Lstm
from gradbench.vision import BundleAdjustment, HandTracking

__all__ = ["EVALUATIONS", "Evaluation"]

EVALUATIONS: list[Evaluation] = [
    Mixture(),
    BundleAdjustment(),
    HandTracking(),
    Lstm(),
    Determinant(),
    LogSumExp(),
    LeastSquares(),
    Equation(),
    Clusters(),
    Particle(),
    Saddle(),
    Hello(),
]
