"""`jt.signal`: values against NumPy and SciPy, derivatives, batches, loops and bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import jittape as jt
from jittape.errors import DTypeError, ShapeError
from jittape.runtime.counters import counters

Array = np.ndarray[Any, Any]


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def complex_numbers(*shape: int) -> Array:
    real, imaginary = rng().standard_normal((2, *shape))
    return real + 1j * imaginary


# ---- values ----------------------------------------------------------------------------------------------------------

SHAPE = (3, 4, 5)
X, Z = rng().standard_normal(SHAPE), complex_numbers(*SHAPE)

CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Array]] = {
    "fft": (jt.signal.fft, np.fft.fft, Z),
    "fft of real": (jt.signal.fft, np.fft.fft, X),
    "fft of integers": (jt.signal.fft, np.fft.fft, np.arange(12).reshape(3, 4)),
    "fft of bools": (jt.signal.fft, np.fft.fft, X > 0),
    "ifft": (jt.signal.ifft, np.fft.ifft, Z),
    "fft2d": (jt.signal.fft2d, np.fft.fft2, Z),
    "ifft2d": (jt.signal.ifft2d, np.fft.ifft2, Z),
    "fft3d": (jt.signal.fft3d, np.fft.fftn, Z),
    "ifft3d": (jt.signal.ifft3d, np.fft.ifftn, Z),
    "fftnd": (jt.signal.fftnd, np.fft.fftn, Z),
    "ifftnd": (jt.signal.ifftnd, np.fft.ifftn, Z),
    "fftnd with lengths": (
        lambda z: jt.signal.fftnd(z, [6, 2]), lambda z: np.fft.fftn(z, (6, 2), (-2, -1)), Z
    ),
    "rfft": (jt.signal.rfft, np.fft.rfft, X),
    "rfft cropped": (lambda x: jt.signal.rfft(x, [4]), lambda x: np.fft.rfft(x, 4), X),
    "rfft padded": (lambda x: jt.signal.rfft(x, [8]), lambda x: np.fft.rfft(x, 8), X),
    "rfft of integers": (jt.signal.rfft, np.fft.rfft, np.arange(12).reshape(3, 4)),
    "rfft2d": (jt.signal.rfft2d, np.fft.rfft2, X),
    "rfft2d with lengths": (lambda x: jt.signal.rfft2d(x, [3, 6]), lambda x: np.fft.rfft2(x, (3, 6)), X),
    "rfft3d": (jt.signal.rfft3d, np.fft.rfftn, X),
    "rfftnd": (lambda x: jt.signal.rfftnd(x, axes=[2, 0]), lambda x: np.fft.rfftn(x, axes=(2, 0)), X),
    "irfft": (jt.signal.irfft, np.fft.irfft, Z),
    "irfft odd": (lambda z: jt.signal.irfft(z, [9]), lambda z: np.fft.irfft(z, 9), Z),
    "irfft of real": (jt.signal.irfft, np.fft.irfft, X),
    "irfft padded": (lambda z: jt.signal.irfft(z, [12]), lambda z: np.fft.irfft(z, 12), Z),
    "irfft2d": (jt.signal.irfft2d, np.fft.irfft2, Z),
    "irfft3d": (lambda z: jt.signal.irfft3d(z, [4, 3, 7]), lambda z: np.fft.irfftn(z, (4, 3, 7), (0, 1, 2)), Z),
    "irfftnd": (
        lambda z: jt.signal.irfftnd(z, [4, 5], [1, 0], "ortho"),
        lambda z: np.fft.irfftn(z, (4, 5), (1, 0), "ortho"),
        Z,
    ),
    "hfft": (jt.signal.hfft, np.fft.hfft, Z),
    "ihfft": (jt.signal.ihfft, np.fft.ihfft, X),
    "fftshift": (jt.signal.fftshift, np.fft.fftshift, X),
    "ifftshift": (jt.signal.ifftshift, np.fft.ifftshift, X),
    "fftshift of one": (lambda x: jt.signal.fftshift(x, -1), lambda x: np.fft.fftshift(x, -1), X),
    "ifftshift of two": (lambda x: jt.signal.ifftshift(x, [0, 2]), lambda x: np.fft.ifftshift(x, (0, 2)), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_and_dtypes_are_those_of_numpy(name: str) -> None:
    function, reference, operand = CALLS[name]
    single = {"f": "float32", "c": "complex64"}.get(operand.dtype.kind)
    for x in (operand, operand.astype(single)) if single else (operand,):
        expected, got = reference(x), function(x).numpy()
        assert got.dtype == expected.dtype
        tolerance = 1e-6 if single and x.dtype == single else 1e-14
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * 20)


def test_float16_is_transformed_in_float32() -> None:
    x = X.astype("float16")
    assert jt.signal.rfft(x).dtype == jt.complex64
    np.testing.assert_allclose(jt.signal.fft(x).numpy(), np.fft.fft(x.astype("float32")), atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    np.testing.assert_allclose(
        jt.signal.fftfreq(n, np.float64(0.3)).numpy(), np.fft.fftfreq(n, 0.3), rtol=1e-15
    )
    np.testing.assert_allclose(
        jt.signal.rfftfreq(n, np.float64(0.3)).numpy(), np.fft.rfftfreq(n, 0.3), rtol=1e-15
    )
    assert jt.signal.fftfreq(n).dtype == jt.float32


def test_frequencies_are_differentiable_in_the_spacing() -> None:
    slope = jt.jacobian(lambda d: jt.signal.fftfreq(5, d))(np.float64(0.5))
    np.testing.assert_allclose(slope, -np.fft.fftfreq(5) / 0.5**2, rtol=1e-15)


@pytest.mark.parametrize("length", [1, 2, 4, 7, 8])
@pytest.mark.parametrize("name", ["hann", "hamming"])
def test_windows(name: str, length: int) -> None:
    window = getattr(jt.signal, f"{name}_window")
    for periodic in (True, False):
        # TensorFlow's windows of odd length are symmetric.
        symmetric = not periodic or length % 2 == 1
        expected = getattr(scipy.signal.windows, name)(length, sym=symmetric)
        np.testing.assert_allclose(window(length, periodic, jt.float64).numpy(), expected, atol=1e-15)
    assert window(length).dtype == jt.float32


@pytest.mark.parametrize("length", [1, 3, 4, 9])
@pytest.mark.parametrize("step", [1, 2, 4, 5])
@pytest.mark.parametrize("samples", [0, 3, 12])
def test_frames(samples: int, length: int, step: int) -> None:
    x = np.arange(1.0, 2 * samples + 1).reshape(2, samples)
    starts = range(0, samples - length + 1, step)
    expected = np.array([[row[i : i + length] for i in starts] for row in x]).reshape(2, len(starts), length)
    np.testing.assert_array_equal(jt.signal.frame(x, length, step).numpy(), expected)
    padded = np.pad(x, ((0, 0), (0, length)), constant_values=-7)
    starts = range(0, samples, step)
    expected = np.array([[row[i : i + length] for i in starts] for row in padded]).reshape(
        2, len(starts), length
    )
    np.testing.assert_array_equal(jt.signal.frame(x, length, step, True, -7).numpy(), expected)
    np.testing.assert_array_equal(
        jt.signal.frame(x.T, length, step, True, -7, axis=0).numpy(), np.moveaxis(expected, 0, 2)
    )


def test_a_padding_value_has_a_gradient() -> None:
    slope = jt.grad(lambda p: jt.reduce_sum(jt.signal.frame(np.ones(5), 4, 2, True, p)))(np.float64(2.0))
    assert slope == 4


@pytest.mark.parametrize(("length", "step", "n"), [(8, 3, None), (6, 2, None), (5, 5, 16), (8, 4, 6)])
def test_short_time_transforms(length: int, step: int, n: int | None) -> None:
    x = rng().standard_normal((2, 41))
    got = jt.signal.stft(x, length, step, n).numpy()
    window = jt.signal.hann_window(length, dtype=jt.float64).numpy()
    frames = np.lib.stride_tricks.sliding_window_view(x, length, -1)[:, ::step] * window
    np.testing.assert_allclose(got, np.fft.rfft(frames, n or 8), atol=1e-14)
    if (n or 8) >= length and step < length:
        inverse = jt.signal.inverse_stft_window_fn(step)
        back = jt.signal.inverse_stft(got, length, step, n, inverse).numpy()
        inside = slice(length, back.shape[1] - length)
        np.testing.assert_allclose(back[:, inside], x[:, : back.shape[1]][:, inside], atol=1e-13)


def test_a_short_time_transform_without_a_window() -> None:
    x = rng().standard_normal(12)
    frames = np.lib.stride_tricks.sliding_window_view(x, 4)[::4]
    np.testing.assert_allclose(
        jt.signal.stft(x, 4, 4, window_fn=None).numpy(), np.fft.rfft(frames), atol=1e-14
    )
    back = jt.signal.inverse_stft(np.fft.rfft(frames), 4, 4, window_fn=None).numpy()
    np.testing.assert_allclose(back, x, atol=1e-14)


@pytest.mark.parametrize("kind", [2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_compiled_cosine_transforms_of_one_element(kind: int, norm: str | None) -> None:
    for transform in (jt.signal.dct, jt.signal.idct):
        values = [jt.function(transform)(jt.constant([[3.0]]), kind, norm=norm).numpy() for _ in range(3)]
        np.testing.assert_allclose(values[2], values[0])
        x = jt.constant([[3.0]])
        np.testing.assert_allclose(values[0], [transform(x, kind, norm=norm).numpy() for _ in range(3)][2])


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_inverse_cosine_transforms(kind: int) -> None:
    factor = 2 * (SHAPE[-1] - 1) if kind == 1 else 2 * SHAPE[-1]
    back = jt.signal.idct(jt.signal.dct(X, kind), kind).numpy()
    np.testing.assert_allclose(back / factor, X, atol=1e-14)
    if kind > 1:
        back = jt.signal.idct(jt.signal.dct(X, kind, norm="ortho"), kind, norm="ortho").numpy()
        np.testing.assert_allclose(back, X, atol=1e-14)
    np.testing.assert_allclose(
        jt.signal.dct(X, kind, n=7, axis=1).numpy(), scipy.fft.dct(X, kind, 7, 1), atol=1e-13
    )


# ---- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_short_cosine_transforms_in_loops_are_machine_code(kind: int) -> None:
    x = np.linspace(-1.0, 2.0, 24).reshape(3, 8)

    def f(x: Any) -> Any:
        return jt.reduce_sum(jt.fori_loop(0, 3, lambda i, y: jt.sin(jt.signal.dct(y, kind)) * x, x))

    y = x
    for _ in range(3):
        y = np.sin(scipy.fft.dct(y, kind)) * x
    value, gradient = jt.function(jt.value_and_grad(f))(jt.constant(x))
    assert all(step.kernel is not None for step in counters.last.compiled.steps)
    assert float(value) == pytest.approx(np.sum(y), rel=1e-12)
    np.testing.assert_allclose(gradient, jt.grad(f)(jt.constant(x)), rtol=1e-10, atol=1e-10)


def test_the_gradient_of_a_spectrum_has_the_conjugate_convention() -> None:
    """The sum of the squared absolute values of a spectrum is `n` times that of the signal."""
    gradient = jt.grad(lambda z: jt.reduce_sum(jt.abs(jt.signal.fft(z)) ** 2))(Z)
    np.testing.assert_allclose(gradient, 2 * SHAPE[-1] * Z, rtol=1e-13)


def test_a_real_operand_of_a_complex_transform_has_a_real_gradient() -> None:
    gradient = jt.grad(lambda x: jt.reduce_sum(jt.abs(jt.signal.fft(x)) ** 2))(X)
    assert gradient.dtype == "float64"
    np.testing.assert_allclose(gradient, 2 * SHAPE[-1] * X, rtol=1e-13)


def test_the_hessian_of_a_quadratic_function_of_a_spectrum() -> None:
    weights = np.arange(1.0, 4.0)

    def loss(x: Any) -> Any:
        return jt.reduce_sum(weights * jt.abs(jt.signal.rfft(x)) ** 2)

    hessian = jt.hessian(loss)(rng().standard_normal(5))
    spectrum = np.fft.rfft(np.eye(5))
    expected = 2 * np.einsum("ik,k,jk->ij", spectrum, weights, spectrum.conj()).real
    np.testing.assert_allclose(hessian, expected, atol=1e-12)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "rfft": lambda x: jt.real(jt.signal.rfft(x, [4])),
    "fft": lambda x: jt.imag(jt.signal.fftnd(x, norm="ortho")),
    "irfft": lambda x: jt.signal.irfft(jt.complex(x, x), [7]),
    "dct": lambda x: jt.signal.dct(x, 1),
    "frame": lambda x: jt.signal.frame(x, 3, 2),
    "stft": lambda x: jt.imag(jt.signal.stft(x, 4, 2)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_forward_mode_agrees_with_reverse_mode(name: str) -> None:
    x, tangent = rng().standard_normal((2, 6))
    value, moved = jt.jvp(TRANSFORMS[name], (x,), (tangent,))
    cotangent = rng().standard_normal(np.shape(value))
    _, pull = jt.vjp(TRANSFORMS[name], x)
    np.testing.assert_allclose(np.sum(cotangent * moved), np.sum(pull(cotangent) * tangent), rtol=1e-12)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_jacobians_of_linear_functions(name: str) -> None:
    """Column `i` of the Jacobian is the value at the unit vector `i`."""
    columns = np.stack([jt.constant(TRANSFORMS[name](e)).numpy() for e in np.eye(6)], -1)
    np.testing.assert_allclose(jt.jacobian(TRANSFORMS[name])(np.zeros(6)), columns, atol=1e-15)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_batches_functions_and_loops(name: str) -> None:
    function = TRANSFORMS[name]
    x = rng().standard_normal((3, 6))
    expected = np.stack([jt.constant(function(row)).numpy() for row in x])
    for _ in range(2):
        np.testing.assert_allclose(jt.vectorized_map(function, x).numpy(), expected, atol=1e-14)
    traced = jt.function(function)
    for _ in range(3):
        np.testing.assert_allclose(traced(x[0]).numpy(), expected[0], atol=1e-14)
    looped = jt.map_fn(function, jt.constant(x)).numpy()
    np.testing.assert_allclose(looped, expected, atol=1e-14)

    def total(rows: Any) -> Any:
        return jt.reduce_sum(jt.map_fn(lambda row: function(row) ** 2, rows))

    together = jt.grad(total)(x)
    apart = np.stack([jt.grad(lambda row: jt.reduce_sum(function(row) ** 2))(row) for row in x])
    np.testing.assert_allclose(together, apart, atol=1e-13)


# ---- bad input -------------------------------------------------------------------------------------------------------

S = jt.signal
BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "scalar": (lambda: S.fft(3.0), ShapeError, r"\[fft\] input must have at least 1 dimension, got shape \(\)"),
    "rank": (lambda: S.fft2d(np.ones(3)), ShapeError, r"\[fft2d\] input must have at least 2 dimensions"),
    "no elements": (lambda: S.ifft(np.ones((2, 0))), ShapeError, r"\[ifft\] .* axis 1 of shape \(2, 0\) has none"),
    "no elements of rfft": (lambda: S.rfft(np.ones(0)), ShapeError, r"\[rfft\] .* has none; give a length"),
    "no result": (lambda: S.irfft(np.ones(1)), ShapeError, r"\[irfft\] 1 frequencies .* give no elements"),
    "complex": (lambda: S.rfft(Z), DTypeError, r"\[rfft\] needs a real dtype, got complex128; use fft"),
    "complex ihfft": (lambda: S.ihfft(Z), DTypeError, r"\[ihfft\] needs a real dtype, got complex128; use ifft"),
    "complex dct": (lambda: S.dct(Z), DTypeError, r"\[dct\] needs a real dtype, got complex128"),
    "length 0": (lambda: S.rfft(X, [0]), ShapeError, r"\[rfft\] fft_length must be at least 1, got \(0,\)"),
    "lengths": (lambda: S.rfft2d(X, [3]), ShapeError, r"\[rfft2d\] fft_length must have 2 lengths, .* got \(3,\)"),
    "fractional length": (lambda: S.rfft(X, 2.5), TypeError, r"\[rfft\] fft_length: must be an int"),
    "axis": (lambda: S.fftnd(X, axes=3), ShapeError, r"\[fftnd\] axis 3 is out of range for 3 dimensions"),
    "axis twice": (lambda: S.fftnd(X, axes=[0, -3]), ShapeError, r"\[fftnd\] axis .* names a dimension twice"),
    "no axes": (lambda: S.fftnd(X, axes=[]), ShapeError, r"\[fftnd\] at least one dimension must be transformed"),
    "norm": (lambda: S.irfftnd(X, norm="none"), ValueError, r"\[irfftnd\] norm must be 'backward', 'ortho'"),
    "type": (lambda: S.dct(X, 5), ValueError, r"\[dct\] type must be 1, 2, 3 or 4, got 5"),
    "type 1": (lambda: S.dct(np.ones((2, 1)), 1), ShapeError, r"\[dct\] type 1 needs at least 2 elements"),
    "type 1 ortho": (lambda: S.idct(X, 1, norm="ortho"), ValueError, r"\[idct\] norm='ortho' is not defined"),
    "frequencies": (lambda: S.fftfreq(0), ShapeError, r"\[fftfreq\] n must be at least 1, got 0"),
    "spacing": (lambda: S.rfftfreq(3, X), ShapeError, r"\[rfftfreq\] d must be one real number, got shape"),
    "complex spacing": (lambda: S.fftfreq(3, 1j), DTypeError, r"\[fftfreq\] d must be one real number"),
    "frame_length": (lambda: S.frame(X, 0, 1), ShapeError, r"\[frame\] frame_length must be at least 1, got 0"),
    "frame_step": (lambda: S.stft(X, 4, 0), ShapeError, r"\[stft\] frame_step must be at least 1, got 0"),
    "no frames": (lambda: S.overlap_and_add(np.ones((0, 3)), 1), ShapeError, r"at least 1 frame, got shape \(0, 3\)"),
    "one dimension": (lambda: S.overlap_and_add(np.ones(3), 1), ShapeError, r"at least 2 dimensions, got shape"),
    "window dtype": (lambda: S.hann_window(4, dtype=int), DTypeError, r"\[hann_window\] dtype must be a real"),
    "window length": (lambda: S.hamming_window(-1), ShapeError, r"\[hamming_window\] window_length must not be"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()


def test_nan_and_infinity_stay_in_their_row() -> None:
    x = X[0].copy()
    x[1, 2], x[2, 0] = np.nan, np.inf
    found = jt.signal.rfft(x).numpy()
    np.testing.assert_allclose(found[[0, 3]], np.fft.rfft(X[0])[[0, 3]], atol=1e-14)
    assert not np.isfinite(found[1:3]).any()
