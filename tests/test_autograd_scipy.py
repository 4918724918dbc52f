"""`jittape.autograd.scipy`: SciPy's functions record if an argument is followed by a derivative."""

import jittape.autograd.scipy.stats.norm as norm_module
import numpy as onp
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import jittape.autograd.numpy as np
from jittape.autograd import elementwise_grad, grad, jacobian
from jittape.autograd.scipy import integrate, linalg, signal, special, stats
from jittape.autograd.test_util import check_grads
from processes import run_python

X = onp.array([0.3, 1.2, 2.5])
M = onp.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]])


@pytest.mark.parametrize(
    "name",
    [
        "gammaln",
        "gamma",
        "rgamma",
        "digamma",
        "psi",
        "erf",
        "erfc",
        "expit",
        "i0",
        "i1",
        "j0",
        "j1",
        "y0",
        "y1",
    ],
)
def test_special_functions(name):
    function, wanted = getattr(special, name), getattr(scipy.special, name)
    assert isinstance(function(X), onp.ndarray)
    onp.testing.assert_array_equal(function(X), wanted(X))
    step = 1e-6
    onp.testing.assert_allclose(
        elementwise_grad(function)(X),
        (wanted(X + step) - wanted(X - step)) / (2 * step),
        rtol=1e-6,
        atol=1e-8,
    )


def test_special_functions_of_several_arguments():
    check_grads(lambda x: special.gammainc(2.0, x), order=1)(X)
    check_grads(lambda x: special.jn(2, x), order=1)(X)
    check_grads(lambda x: special.yn(1, x), order=1)(X)
    check_grads(lambda x: special.beta(x, 2.0), order=1)(X)
    check_grads(lambda x: special.logsumexp(x), order=2)(X)
    check_grads(lambda x: special.logsumexp(x, axis=1, keepdims=True), order=1)(M)
    assert special.logsumexp(X) == scipy.special.logsumexp(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda d, x: d.norm.logpdf(x, 0.5, 2.0),
        lambda d, x: d.norm.cdf(x, loc=0.5),
        lambda d, x: d.norm.logcdf(x),
        lambda d, x: d.norm.pdf(1.0, x, 2.0),
        lambda d, x: d.t.logpdf(x, 3.0, 0.1, 2.0),
        lambda d, x: d.gamma.logpdf(x, 2.0),
        lambda d, x: d.beta.logpdf(x / 3.0, 2.0, 3.0),
        lambda d, x: d.chi2.logpdf(x, 3.0),
        lambda d, x: d.poisson.logpmf(onp.array([0, 2, 3]), x),
        lambda d, x: d.expon.logpdf(x),
        lambda d, x: d.multivariate_normal.logpdf(x, onp.zeros(3), M),
        lambda d, x: d.dirichlet.logpdf(onp.array([0.2, 0.3, 0.5]), x),
    ],
)
def test_distributions(call):
    wanted = call(scipy.stats, X)
    assert type(call(stats, X)) is type(wanted)
    onp.testing.assert_array_equal(call(stats, X), wanted)
    columns = [(call(scipy.stats, X + 1e-6 * e) - call(scipy.stats, X - 1e-6 * e)) / 2e-6 for e in onp.eye(3)]
    onp.testing.assert_allclose(
        jacobian(lambda x: call(stats, x))(X), onp.stack(columns, -1), rtol=1e-5, atol=1e-7
    )


def test_distributions_are_modules():
    assert norm_module is stats.norm
    assert norm_module.logpdf(0.3) == scipy.stats.norm.logpdf(0.3)
    with pytest.raises(AttributeError, match="no_such"):
        norm_module.no_such  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda d, a: d.cholesky(a),
        lambda d, a: d.cholesky(a, lower=True),
        lambda d, a: d.inv(a),
        lambda d, a: d.det(a),
        lambda d, a: d.expm(a),
        lambda d, a: d.sqrtm(a),
        lambda d, a: d.solve(a, X),
        lambda d, a: d.solve_triangular(a, X),
        lambda d, a: d.solve_triangular(a, X, lower=True),
        lambda d, a: d.solve_triangular(a, M, trans=1, lower=True),
        lambda d, a: d.solve_triangular(a, X, trans="T"),
    ],
)
def test_linear_algebra(call):
    def symmetric(x):
        return 0.5 * (x + x.T)

    wanted = call(scipy.linalg, M)
    onp.testing.assert_array_equal(call(linalg, M), wanted)
    directions = [onp.random.default_rng(i).normal(size=(3, 3)) for i in range(2)]
    found = jacobian(lambda a: call(linalg, symmetric(a)))(M)
    for v in directions:
        step = 1e-6 * symmetric(v)
        numeric = (call(scipy.linalg, M + step) - call(scipy.linalg, M - step)) / 2e-6
        onp.testing.assert_allclose(onp.tensordot(found, v, 2), onp.real(numeric), rtol=1e-5, atol=1e-7)


def test_what_is_not_recorded_is_refused_by_name():
    for function, name in ((linalg.hadamard, "hadamard"), (special.factorial2, "factorial2")):
        with pytest.raises(TypeError, match=name):
            grad(lambda x, function=function: np.sum(function(x)))(1.5)
    with pytest.raises(TypeError, match="unit_diagonal"):
        grad(lambda a: np.sum(linalg.solve_triangular(a, X, unit_diagonal=True)))(M)
    with pytest.raises(ValueError, match="trans"):
        grad(lambda a: np.sum(linalg.solve_triangular(a, X, trans=5)))(M)
    for module in (special, linalg, signal, integrate):
        with pytest.raises(AttributeError, match="no_such"):
            module.no_such  # noqa: B018


def test_functions_of_plain_arrays_are_those_of_scipy():
    onp.testing.assert_array_equal(signal.convolve(X, X), scipy.signal.convolve(X, X))
    assert integrate.quad(lambda x: x, 0.0, 1.0)[0] == 0.5
    assert linalg.LinAlgError is scipy.linalg.LinAlgError


def test_importing_does_not_import_scipy():
    printed = run_python(
        "-c",
        "import sys, jittape.autograd.scipy.stats.norm, jittape.autograd.scipy.special;"
        "print([m for m in sys.modules if m.split('.')[0] == 'scipy'])",
    )
    assert printed.stdout.strip() == "[]", printed.stderr
