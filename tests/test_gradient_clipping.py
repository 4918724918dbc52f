"""Gradient clipping."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


def gradient_of(function, x):
    x = jt.constant(x)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def test_clip_by_value():
    x = jt.constant([-2.0, -1.0, 0.5, 1.0, 3.0])
    for _ in range(3):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.clip_by_value(x, -1.0, 1.0)
        assert y.tolist() == [-1.0, -1.0, 0.5, 1.0, 1.0]
        assert tape.gradient(y, x).tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_clip_by_norm():
    a = np.random.default_rng(0).normal(size=(3, 4))
    for axes in (None, 0, [1], (0, 1)):
        numpy_axes = tuple(axes) if isinstance(axes, list) else axes
        norms = np.sqrt(np.sum(a * a, axis=numpy_axes, keepdims=True))
        for limit in (0.5, 1.5, 100.0):
            wanted = a * np.minimum(1.0, limit / norms)
            for _ in range(2):
                np.testing.assert_allclose(jt.clip_by_norm(a, limit, axes).numpy(), wanted, rtol=1e-12)


def test_clip_by_norm_of_zeros_and_its_gradient():
    assert jt.clip_by_norm([0.0, 0.0], 1.0).tolist() == [0.0, 0.0]
    assert gradient_of(lambda x: jt.clip_by_norm(x, 1.0), [0.0, 0.0]).tolist() == [1.0, 1.0]
    assert gradient_of(lambda x: jt.clip_by_norm(x, 10.0), [3.0, 4.0]).tolist() == [1.0, 1.0]
    x, step = np.array([3.0, 4.0]), 1e-6
    clipped = lambda x: x / np.linalg.norm(x)  # noqa: E731
    wanted = [np.sum(clipped(x + e) - clipped(x - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(gradient_of(lambda x: jt.clip_by_norm(x, 1.0), x), wanted, rtol=1e-8)


def test_clip_by_norm_of_complex_numbers():
    np.testing.assert_allclose(jt.clip_by_norm(np.array([3.0, 4j]), 1.0).numpy(), [0.6, 0.8j], rtol=1e-15)


def test_global_norm():
    assert float(jt.linalg.global_norm([jt.constant([3.0, 0.0]), None, jt.constant(4.0, jt.float64)])) == 5.0
    assert float(jt.linalg.global_norm([3, [[4]]])) == 5.0


def test_clip_by_global_norm():
    gradients = [jt.constant([3.0, 0.0]), None, jt.constant(4.0, jt.float64)]
    for limit, scale in ((10.0, 1.0), (5.0, 1.0), (2.5, 0.5)):
        clipped, norm = jt.clip_by_global_norm(gradients, limit)
        assert float(norm) == 5.0
        assert clipped[1] is None
        assert clipped[0].tolist() == [3.0 * scale, 0.0]
        assert float(clipped[2]) == 4.0 * scale
        assert [clipped[0].dtype, clipped[2].dtype] == [jt.float32, jt.float64]
    clipped, norm = jt.clip_by_global_norm(gradients, 1.0, use_norm=10.0)
    assert float(norm) == 10.0
    np.testing.assert_allclose(clipped[0].numpy(), [0.3, 0.0], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_clip_by_global_norm_does_not_hide_what_is_not_finite(bad):
    clipped, norm = jt.clip_by_global_norm([jt.constant([bad, 1.0]), jt.constant(2.0)], 1.0)
    assert not np.isfinite(float(norm))
    assert np.isnan(clipped[0].numpy()).all()
    assert np.isnan(float(clipped[1]))


def test_clipping_mistakes():
    for function in (jt.linalg.global_norm, lambda t: jt.clip_by_global_norm(t, 1.0)):
        with pytest.raises(TypeError, match="t_list should be a sequence"):
            function(jt.constant([1.0]))
        with pytest.raises(ValueError, match="no tensor among the 2 entries"):
            function([None, None])
