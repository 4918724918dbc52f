"""Programs written for NumPy give NumPy's values and dtypes under `jittape.numpy`."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from classic_programs import PROGRAMS


def compare(found, wanted):
    """Check results: tensors against arrays and NumPy's scalars, Python numbers against Python numbers."""
    if isinstance(wanted, (tuple, list)):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            compare(one, other)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(found, jnp.ndarray)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-12)
    else:
        assert type(found) is type(wanted)
        assert found == pytest.approx(wanted, rel=1e-9) if isinstance(wanted, float) else found == wanted


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_gives_what_it_gives_under_numpy(program):
    wanted = program(np)
    for _ in range(2):  # interpreted, then compiled
        compare(program(jnp), wanted)


def logistic_loss(np, x, y, w):
    scores = x @ w[:-1] + w[-1]
    return np.mean(np.logaddexp(0.0, -y * scores)) + 0.5 * np.sum(w**2) / len(y)


def test_a_loss_in_the_words_of_numpy_has_a_gradient():
    t = np.arange(20.0)
    x, y = np.column_stack([np.sin(t), np.cos(t)]), np.sign(np.sin(t / 2) + 0.1)
    w = jnp.array([0.3, -0.2, 0.1])
    value, gradient = jt.value_and_grad(lambda w: logistic_loss(jnp, jnp.asarray(x), jnp.asarray(y), w))(w)
    np.testing.assert_allclose(value, logistic_loss(np, x, y, w.numpy()), rtol=1e-14)
    for i in range(3):
        step = np.eye(3)[i] * 1e-6
        slope = (logistic_loss(np, x, y, w.numpy() + step) - logistic_loss(np, x, y, w.numpy() - step)) / 2e-6
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-6)


def test_a_program_that_writes_into_slices_has_a_gradient():
    def smoothed(np, first):
        u = np.zeros(6)
        u[0] = first
        for _ in range(4):
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
        return (u**2).sum()

    value, gradient = jt.value_and_grad(lambda a: smoothed(jnp, a))(jnp.array(2.0))
    np.testing.assert_allclose(value, smoothed(np, 2.0))
    np.testing.assert_allclose(gradient, 2 * smoothed(np, 2.0) / 2.0)
