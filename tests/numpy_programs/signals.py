"""Signals and pictures: Fourier transforms, convolutions and fractals."""

from __future__ import annotations


def fourier_filter(np, p=0.4):
    n, rate = 64, 64.0
    t = np.arange(n) / rate
    signal = np.sin(2 * np.pi * 5 * t) + p * np.sin(2 * np.pi * 20 * t)
    spectrum = np.fft.rfft(signal)
    frequencies = np.fft.rfftfreq(n, d=1 / rate)
    power = np.abs(spectrum) ** 2 / n
    spectrum[frequencies > 10] = 0
    cleaned = np.fft.irfft(spectrum, n)
    noise = signal - cleaned
    return np.sqrt(np.mean(noise**2)) + p * power[5], cleaned[:6], frequencies[power.argmax()], power[18:22]


def image_convolution(np, p=1.0):
    image = np.zeros((7, 7))
    image[2:5, 2:5] = p
    kernel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
    padded = np.pad(image, 1, mode="edge")
    result = np.zeros_like(image)
    for i in range(3):
        for j in range(3):
            result += kernel[i, j] * padded[i : i + 7, j : j + 7]
    magnitude = np.sqrt(result**2 + np.rot90(result) ** 2 + 1e-12)
    return magnitude.mean(), result, (magnitude > 2 * magnitude.mean()).astype(np.int8), magnitude[::3, ::-3]


def mandelbrot(np):
    x, y = np.linspace(-2, 0.5, 12), np.linspace(-1.2, 1.2, 9)
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z, divergence = np.zeros_like(c), np.full(c.shape, 20)
    for i in range(20):
        z = z**2 + c
        diverged = np.abs(z) > 2
        fresh = diverged & (divergence == 20)
        divergence[fresh] = i
        z[diverged] = 2
    return divergence, (divergence == 20).sum(), c.dtype.name, np.angle(z[4]).round(6)


def sampling_and_aliasing(np):
    n = 16
    k = np.arange(n).reshape((n, 1))
    dft = np.exp(-2j * np.pi * k * k.T / n)
    signal = np.cos(2 * np.pi * 3 * np.arange(n) / n) + 0.5
    spectrum = dft.dot(signal)
    assert np.allclose(spectrum, np.fft.fft(signal))
    shifted = np.fft.fftshift(np.abs(spectrum))
    back = np.real(np.conj(dft) @ spectrum) / n
    return (
        shifted.round(8),
        back,
        np.isclose(back, signal).all(),
        spectrum.imag.round(8).max(),
        np.fft.fftfreq(n)[:3],
    )


def autocorrelation(np, p=0.9):
    e = np.cos(np.arange(30) * 2.7)
    x = np.zeros(30)
    for t in range(1, len(x)):
        x[t] = p * x[t - 1] + e[t]
    x -= x.mean()
    full = np.correlate(x, x, mode="full")[len(x) - 1 :]
    rho = full / full[0]
    return rho[1], rho[:5], np.sum(rho > 0), (x[:-1] @ x[1:]) / (x @ x)
