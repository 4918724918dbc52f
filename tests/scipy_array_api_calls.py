"""Calls of SciPy's functions on tensors with its switch for the Array API, and what becomes of the gradient.

``SCIPY_ARRAY_API=1 python tests/scipy_array_api_calls.py`` prints the classes as JSON. With ``--write`` it renews the
lists of docs/guides/scipy.md instead.
"""

import functools
import json
import re
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
from scipy import (
    cluster,
    constants,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    special,
    stats,
)
from scipy.optimize import elementwise
from scipy.spatial.transform import Rotation

import jittape as jt

PAGE = Path(__file__).parent.parent / "docs" / "guides" / "scipy.md"

CLASSES = {
    "gradient": "These differentiate:",
    "partly": "These differentiate, and warn that another result, such as the p-value of a test, does not:",
    "incomplete": "These lose a part of the gradient, and warn:",
    "order": "These depend on the order of the elements only, so the gradient is `None`:",
    "converted": "These convert the tensor to an array:",
    "error": "These raise an error, since they write into arrays or read their memory:",
}
"""Introductions of the lists on the page."""

X, DIRECTION = np.array([0.5, 1.0, 2.0, 0.7]), np.array([0.3, -0.7, 0.4, 0.2])
GRID, POINTS = (jt.constant(np.array(v)) for v in ([0.0, 1.0, 2.0, 3.0], [0.5, 1.2]))


def matrix(t):
    """Return a symmetric positive definite matrix."""
    return jt.linalg.diag(t) + 0.1 * jt.einsum("i,j->ij", t, t)


def sample(t):
    """Return 12 numbers."""
    return jt.concat([t, t * t + 0.3, jt.sin(t) + 2.0], 0)


def section(t):
    """Return the coefficients of a second-order section."""
    return jt.concat([t[:3], jt.constant([1.0], jt.float64), t[:2]], 0).reshape(1, 6)


def named(place, module, names, call):
    """Return calls of functions by name; `call` takes a function and a tensor."""
    return {
        f"{place}.{n}": functools.partial(call, getattr(module, n))
        for n in names.split()
        if hasattr(module, n)
    }


CALLS = {
    **named("special", special,
            "entr spence exp1 expi expit exprel gamma loggamma psi rgamma zetac sindg cosdg tandg cotdg i0 i0e i1 i1e "
            "k0 k0e k1 k1e y0 y1 j0 j1 gammaln gammasgn cbrt cosm1 erf erfc erfcx ndtr log_ndtr exp2 exp10 digamma "
            "sinc logsumexp softmax log_softmax softplus", lambda f, t: f(t)),
    **named("special", special, "erfinv ndtri logit ellipk ellipkm1", lambda f, t: f(t / 4.0)),
    **named("special", special,
            "betaln xlogy xlog1py rel_entr kl_div huber pseudo_huber binom poch gammainc gammaincc gammaincinv boxcox "
            "boxcox1p inv_boxcox inv_boxcox1p chdtr chdtrc pdtr zeta stdtr expn", lambda f, t: f(t, t + 1.0)),
    **named("special", special, "betainc hyp1f1 radian", lambda f, t: f(t, t + 1.0, t / 4.0)),
    "special.polygamma": lambda t: special.polygamma(1, t),
    "special.multigammaln": lambda t: special.multigammaln(t + 2.0, 2),
    **named("fft", fft, "fft ifft rfft irfft hfft ihfft fftshift ifftshift fftn ifftn rfftn irfftn hfftn ihfftn dct "
            "idct dst idst dctn idctn dstn idstn", lambda f, t: f(t)),
    **named("fft", fft, "fft2 ifft2 rfft2 irfft2 hfft2 ihfft2", lambda f, t: f(matrix(t))),
    "fft.fht": lambda t: fft.fht(t, 0.1, 0.5),
    **named("integrate", integrate, "trapezoid cumulative_trapezoid cumulative_simpson simpson", lambda f, t: f(t)),
    "integrate.romb": lambda t: integrate.romb(jt.concat([t, t[:1]], 0)),
    "integrate.cubature": lambda t: integrate.cubature(lambda x: x[:, 0] ** 2, t[:1], t[1:2]).estimate,
    "integrate.tanhsinh": lambda t: integrate.tanhsinh(lambda x: x * x, t[0], t[1]).integral,
    "integrate.nsum": lambda t: integrate.nsum(lambda k: 1.0 / k**2, t[1], t[1] + 3.0).sum,
    **named("signal", signal, "hilbert envelope detrend cspline1d", lambda f, t: f(t)),
    **named("signal", signal, "convolve correlate fftconvolve oaconvolve", lambda f, t: f(t, t + 1.0)),
    **named("signal", signal, "convolve2d correlate2d", lambda f, t: f(matrix(t), matrix(t))),
    **named("signal", signal, "freqs freqz", lambda f, t: f(t, t + 1.0, worN=POINTS)[1]),
    **named("signal", signal, "bilinear normalize", lambda f, t: f(t, t + 1.0)[0]),
    **named("signal", signal, "medfilt wiener", lambda f, t: f(t, 3)),
    "signal.hilbert2": lambda t: signal.hilbert2(matrix(t)),
    "signal.deconvolve": lambda t: signal.deconvolve(t, t[:2])[0],
    "signal.lfilter": lambda t: signal.lfilter(POINTS, POINTS + 0.3, t),
    "signal.filtfilt": lambda t: signal.filtfilt(POINTS, POINTS + 0.3, sample(t)),
    "signal.sosfilt": lambda t: signal.sosfilt(section(GRID), t),
    "signal.savgol_filter": lambda t: signal.savgol_filter(t, 3, 1),
    "signal.resample": lambda t: signal.resample(t, 6),
    "signal.resample_poly": lambda t: signal.resample_poly(t, 3, 2),
    "signal.upfirdn": lambda t: signal.upfirdn(t, t),
    "signal.freqz_zpk": lambda t: signal.freqz_zpk(t[:1], t[1:2], t[2], worN=POINTS)[1],
    "signal.freqz_sos": lambda t: signal.freqz_sos(section(t), worN=POINTS)[1],
    "signal.vectorstrength": lambda t: signal.vectorstrength(t, POINTS[1])[0],
    "signal.lp2lp": lambda t: signal.lp2lp(t, t + 1.0, 2.0)[0],
    "signal.tf2zpk": lambda t: signal.tf2zpk(t, t + 1.0)[2],
    "signal.zpk2tf": lambda t: signal.zpk2tf(t[:2], t[2:], t[0])[0],
    "signal.sos2tf": lambda t: signal.sos2tf(section(t))[0],
    "signal.group_delay": lambda t: signal.group_delay((t, t + 1.0), w=POINTS)[1],
    "signal.firwin": lambda t: signal.firwin(5, t[0] / 4.0),
    "signal.gauss_spline": lambda t: signal.gauss_spline(t, 3),
    **named("stats", stats, "gmean hmean zscore gzscore skew kurtosis variation tmean tvar tstd tsem sem gstd iqr "
            "entropy circmean circvar circstd kstat kstatvar lmoment median_abs_deviation tmin tmax rankdata",
            lambda f, t: f(t)),
    "stats.differential_entropy": lambda t: stats.differential_entropy(sample(t)),
    "stats.describe": lambda t: stats.describe(t).variance,
    "stats.mode": lambda t: stats.mode(t).mode,
    "stats.moment": lambda t: stats.moment(t, 2),
    "stats.pmean": lambda t: stats.pmean(t, 3),
    "stats.boxcox_llf": lambda t: stats.boxcox_llf(0.5, t),
    "stats.yeojohnson_llf": lambda t: stats.yeojohnson_llf(0.5, t),
    "stats.zmap": lambda t: stats.zmap(t, t * t),
    "stats.trim_mean": lambda t: stats.trim_mean(t, 0.25),
    "stats.quantile": lambda t: stats.quantile(t, POINTS[0]),
    "stats.false_discovery_control": lambda t: stats.false_discovery_control(t / 4.0),
    "stats.directional_stats": lambda t: stats.directional_stats(matrix(t)).mean_direction,
    "stats.sigmaclip": lambda t: stats.sigmaclip(t).clipped,
    "stats.combine_pvalues": lambda t: stats.combine_pvalues(t / 4.0).statistic,
    "stats.ttest_1samp": lambda t: stats.ttest_1samp(t, 0.3).statistic,
    **named("stats", stats, "pearsonr spearmanrho ttest_ind ttest_rel f_oneway bartlett levene mannwhitneyu fligner "
            "kruskal brunnermunzel ansari mood wilcoxon alexandergovern cramervonmises_2samp",
            lambda f, t: f(t, t * t + jt.sin(9.0 * t)).statistic),
    **named("stats", stats, "skewtest kurtosistest normaltest jarque_bera", lambda f, t: f(sample(t)).statistic),
    **named("stats", stats, "chisquare power_divergence", lambda f, t: f(t).statistic),
    "stats.norm.logpdf": stats.norm.logpdf,
    "stats.Normal.logpdf": lambda t: stats.Normal(mu=0.0, sigma=1.0).logpdf(t),
    "linalg.block_diag": lambda t: linalg.block_diag(t, t),
    "linalg.fiedler": linalg.fiedler,
    "linalg.toeplitz": linalg.toeplitz,
    "linalg.norm": linalg.norm,
    "linalg.orthogonal_procrustes": lambda t: linalg.orthogonal_procrustes(matrix(t), matrix(t) + 1.0)[1],
    **named("linalg", linalg, "inv det svdvals expm pinv cholesky eigvalsh sqrtm logm", lambda f, t: f(matrix(t))),
    **named("linalg", linalg, "svd qr eigh", lambda f, t: f(matrix(t))[1]),
    **named("linalg", linalg, "solve lstsq", lambda f, t: f(matrix(t), t)),
    **named("optimize", optimize, "rosen rosen_der rosen_hess", lambda f, t: f(t)),
    "optimize.rosen_hess_prod": lambda t: optimize.rosen_hess_prod(t, t),
    "optimize.elementwise.find_root": lambda t: elementwise.find_root(
        lambda x, a: x * x - a, (0.0 * t, 3.0 + 0.0 * t), args=(t,)).x,
    "optimize.elementwise.find_minimum": lambda t: elementwise.find_minimum(
        lambda x, a: (x - a) ** 2, (0.0 * t - 1.0, 0.0 * t + 0.3, 0.0 * t + 3.0), args=(t,)).x,
    "differentiate.derivative": lambda t: differentiate.derivative(jt.sin, t).df,
    "differentiate.jacobian": lambda t: differentiate.jacobian(jt.sin, t).df,
    "differentiate.hessian": lambda t: differentiate.hessian(lambda x: jt.reduce_sum(jt.sin(x), 0), t).ddf,
    "cluster.vq.whiten": lambda t: cluster.vq.whiten(matrix(t) + t)[:, 0],
    "cluster.vq.vq": lambda t: cluster.vq.vq(matrix(t), matrix(t) + 0.1)[1],
    "cluster.hierarchy.ward": lambda t: cluster.hierarchy.ward(matrix(t)),
    **named("ndimage", ndimage, "gaussian_filter uniform_filter maximum_filter median_filter zoom",
            lambda f, t: f(t, 2)),
    **named("ndimage", ndimage, "sobel laplace prewitt sum", lambda f, t: f(t)),
    "ndimage.convolve": lambda t: ndimage.convolve(t, POINTS),
    "ndimage.shift": lambda t: ndimage.shift(t, 0.4),
    "ndimage.map_coordinates": lambda t: ndimage.map_coordinates(t, POINTS.reshape(1, 2), order=1),
    **named("interpolate", interpolate, "CubicSpline Akima1DInterpolator PchipInterpolator make_interp_spline",
            lambda f, t: f(GRID, t)(POINTS)),
    "interpolate.RegularGridInterpolator": lambda t: interpolate.RegularGridInterpolator((GRID,), t)(
        POINTS.reshape(2, 1)),
    "interpolate.RBFInterpolator": lambda t: interpolate.RBFInterpolator(GRID.reshape(4, 1), t)(POINTS.reshape(2, 1)),
    "interpolate.PPoly": lambda t: interpolate.PPoly(t.reshape(2, 2), GRID[:3])(POINTS),
    "interpolate.BSpline": lambda t: interpolate.BSpline(jt.concat([0.0 * GRID, 0.0 * GRID + 2.0], 0), t, 3)(POINTS),
    "constants.convert_temperature": lambda t: constants.convert_temperature(t, "Celsius", "Kelvin"),
    "constants.lambda2nu": constants.lambda2nu,
    "Rotation.from_rotvec": lambda t: Rotation.from_rotvec(t[:3]).as_matrix(),
    "Rotation.from_quat": lambda t: Rotation.from_quat(t).as_matrix(),
    "Rotation.from_matrix": lambda t: Rotation.from_matrix(matrix(t)[:3, :3]).as_quat(),
    "Rotation.from_euler": lambda t: Rotation.from_euler("xyz", t[:3]).as_matrix(),
    "Rotation.as_rotvec": lambda t: Rotation.from_quat(t).as_rotvec(),
    "Rotation.apply": lambda t: Rotation.from_rotvec(t[:3]).apply(t[1:]),
    "Rotation.inv": lambda t: Rotation.from_rotvec(t[:3]).inv().as_matrix(),
}  # fmt: skip


def total(result):
    """Return a weighted sum of the real and imaginary parts of a tensor."""
    parts = jt.cast(jt.real(result), jt.float64)
    if result.dtype.kind == "c":
        parts = parts + jt.cast(jt.imag(result), jt.float64)
    return jt.reduce_sum(parts * np.cos(np.arange(float(np.prod(parts.shape)))).reshape(parts.shape))


def class_of(call):
    """Return the class of a call: the key of `CLASSES`."""
    t = jt.constant(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with jt.GradientTape() as tape:
                tape.watch(t)
                result = call(t)
                target = total(result) if isinstance(result, jt.Tensor) else None
        except Exception:
            return "error"
        gradient = None if target is None else tape.gradient(target, t)
    warned = any(issubclass(w.category, jt.errors.TapeExitWarning) for w in caught)
    if gradient is None:
        assert warned or target is not None, "a result that is no tensor must warn"
        return "converted" if warned else "order"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        upper, lower = [float(total(call(jt.constant(X + s * DIRECTION)))) for s in (1e-5, -1e-5)]
    found, wanted = float(gradient.numpy() @ DIRECTION), (upper - lower) / 2e-5
    if np.isclose(found, wanted, rtol=1e-4, atol=1e-6):
        return "partly" if warned else "gradient"
    assert warned, f"a wrong gradient without a warning: {found}, differences {wanted}"
    return "incomplete"


def classified():
    """Return the names of the functions in each class."""
    found = {key: [] for key in CLASSES}
    for name, call in CALLS.items():
        found[class_of(call)].append(name)
    return {key: sorted(names) for key, names in found.items()}


def paragraph(key, names):
    """Return the list of a class as the page has it."""
    text = f"{CLASSES[key]} " + ", ".join(f"`{name}`" for name in names) + "."
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    classes = classified()
    if "--write" in sys.argv:
        page = PAGE.read_text(encoding="utf-8")
        for key, names in classes.items():
            start = re.escape(CLASSES[key]).replace(r"\ ", r"\s")
            page = re.sub(rf"{start}.*?(?=\n\n)", paragraph(key, names), page, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(json.dumps(classes))
