"""SciPy's own functions on tensors, with its switch for the Array API."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import scipy

PAGE = Path(__file__).parent.parent / "docs" / "guides" / "scipy.md"

HEADINGS = ("These differentiate:", "These convert the tensor to an array:")

PROGRAM = """
import warnings
import numpy as np, scipy
from scipy import cluster, differentiate, fft, integrate, linalg, ndimage, optimize, signal, special, stats
from scipy.spatial.transform import Rotation
import jittape as jt

X, DIRECTION = np.array([0.5, 1.0, 2.0]), np.array([0.3, -0.7, 0.4])
CALLS = {
    "special.logsumexp": special.logsumexp, "special.softmax": special.softmax,
    "special.log_softmax": special.log_softmax, "special.xlogy": lambda t: special.xlogy(t, t),
    "special.softplus": special.softplus,
    "fft.fft": fft.fft, "fft.rfft": fft.rfft, "fft.irfft": fft.irfft, "fft.fftn": fft.fftn,
    "fft.fftshift": fft.fftshift,
    "integrate.trapezoid": integrate.trapezoid, "integrate.cumulative_trapezoid": integrate.cumulative_trapezoid,
    "integrate.cumulative_simpson": integrate.cumulative_simpson,
    "integrate.cubature": lambda t: integrate.cubature(lambda x: x[:, 0] ** 2, t[:1], t[1:2]).estimate,
    "signal.fftconvolve": lambda t: signal.fftconvolve(t, t), "signal.hilbert": signal.hilbert,
    "signal.freqz": lambda t: signal.freqz(t)[1],
    "stats.zscore": stats.zscore, "stats.moment": lambda t: stats.moment(t, 2), "stats.skew": stats.skew,
    "stats.kurtosis": stats.kurtosis, "stats.gmean": stats.gmean, "stats.hmean": stats.hmean,
    "stats.variation": stats.variation, "stats.describe": lambda t: stats.describe(t).variance,
    "stats.tmean": stats.tmean, "stats.sem": stats.sem, "stats.boxcox_llf": lambda t: stats.boxcox_llf(0.5, t),
    "stats.circmean": stats.circmean,
    "linalg.block_diag": lambda t: linalg.block_diag(t, t),
    "optimize.rosen": optimize.rosen, "optimize.rosen_der": optimize.rosen_der,
    "spatial.transform.Rotation.from_rotvec": lambda t: Rotation.from_rotvec(t).as_matrix(),
    "differentiate.derivative": lambda t: differentiate.derivative(jt.sin, t).df,
    "stats.iqr": stats.iqr, "cluster.vq.whiten": lambda t: cluster.vq.whiten(jt.linalg.diag(t) + t)[:, 0],
}
CONVERTING = {
    "fft.dct": fft.dct, "integrate.simpson": integrate.simpson, "linalg.inv": lambda t: linalg.inv(jt.linalg.diag(t)),
    "linalg.svd": lambda t: linalg.svd(jt.linalg.diag(t))[1],
    "ndimage.gaussian_filter": lambda t: ndimage.gaussian_filter(t, 1.0),
    "signal.convolve": lambda t: signal.convolve(t, t), "signal.correlate": lambda t: signal.correlate(t, t),
    "signal.detrend": signal.detrend, "special.erf": special.erf, "special.gammaln": special.gammaln,
    "stats.entropy": stats.entropy, "stats.norm.logpdf": stats.norm.logpdf,
}

def total(call, t):
    r = call(t)
    assert isinstance(r, jt.Tensor), type(r)
    return jt.reduce_sum(jt.cast(jt.real(r), jt.float64) * np.cos(np.arange(float(np.prod(r.shape)))).reshape(r.shape))

warnings.simplefilter("error")
warnings.filterwarnings("ignore", ".* different programs have been recorded from this line")
for name, call in CALLS.items():
    t = jt.constant(X)
    with jt.GradientTape() as tape:
        tape.watch(t)
        y = total(call, t)
    found = tape.gradient(y, t).numpy()
    upper, lower = [float(total(call, jt.constant(X + s * DIRECTION))) for s in (1e-5, -1e-5)]
    np.testing.assert_allclose(found @ DIRECTION, (upper - lower) / 2e-5, rtol=1e-4, atol=1e-6, err_msg=name)
    print(name)
print("then")
warnings.filterwarnings("ignore", category=jt.errors.UnconnectedGradientWarning)
for name, call in CONVERTING.items():
    t = jt.constant(X)
    with jt.GradientTape() as tape, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tape.watch(t)
        r = call(t)
    assert jt.errors.TapeExitWarning in {w.category for w in caught}, name
    assert not isinstance(r, jt.Tensor) or tape.gradient(r, t) is None, name
    print(name)
"""


def listed(heading: str) -> list[str]:
    """Return the functions that the page lists below a heading."""
    section = PAGE.read_text(encoding="utf-8").partition(heading)[2].partition("\n\n")[0]
    return re.findall(r"`([\w.]+)`", section)


def test_the_program_calls_each_function_that_the_page_lists_once() -> None:
    tables = [node.value for node in ast.parse(PROGRAM).body if isinstance(node, ast.Assign)]
    called = [
        [ast.literal_eval(key) for key in table.keys] for table in tables if isinstance(table, ast.Dict)
    ]
    assert [sorted(names) for names in called] == [sorted(listed(heading)) for heading in HEADINGS]


@pytest.mark.skipif(
    not scipy.__version__.startswith("1.17."), reason="the page lists the functions of SciPy 1.17"
)
def test_functions_that_the_page_lists_differentiate() -> None:
    """The page names exactly the functions that this test differentiates, and those that leave the tape."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for heading, names in zip(HEADINGS, done.stdout.split("then"), strict=True):
        assert sorted(listed(heading)) == sorted(names.split())
