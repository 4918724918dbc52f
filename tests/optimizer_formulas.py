"""The published formulas of the optimizers in NumPy, one generator for each Variable.

`formula()` is sent the first value, then (gradient, learning rate) for each step, and gives the value after it. What
the papers leave open is as in Keras, whose results these formulas reproduce: where epsilon stands, where state begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt

optimizers = jt.optimizers


def sgd(momentum=0.0, nesterov=False):
    """Sutskever et al., ICML 2013, equations 1 to 4."""
    w, v = (yield), 0.0
    while True:
        gradient, rate = yield w
        v = momentum * v - rate * gradient
        w = w + (momentum * v - rate * gradient if nesterov else v)


def adam(beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False):
    """Kingma and Ba, ICLR 2015, end of section 2; Reddi et al., ICLR 2018, algorithm 2."""
    w, m, v, greatest, t = (yield), 0.0, 0.0, 0.0, 0
    while True:
        gradient, rate = yield w
        t += 1
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        greatest = np.maximum(greatest, v)
        size = rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        w = w - size * m / (np.sqrt(greatest if amsgrad else v) + epsilon)


def adamw(decay=0.004):
    """Loshchilov and Hutter, ICLR 2019, algorithm 2, the decay times the learning rate."""
    update = adam()
    w = yield
    next(update)
    update.send(w)
    before = w
    while True:
        gradient, rate = yield w
        after = update.send((gradient, rate))
        w, before = w * (1 - rate * decay) + (after - before), after


def rmsprop(rho=0.9, momentum=0.0, epsilon=1e-7, centered=False):
    """Hinton, lecture 6e; Graves 2013, equations 38 to 45."""
    w, n, g, delta = (yield), 0.0, 0.0, 0.0
    while True:
        gradient, rate = yield w
        n = rho * n + (1 - rho) * gradient**2
        g = rho * g + (1 - rho) * gradient
        variance = n - g**2 if centered else n
        delta = momentum * delta - rate * gradient / np.sqrt(variance + epsilon)
        w = w + delta


def adagrad(initial=0.1, epsilon=1e-7):
    """Duchi et al., JMLR 12 (2011), figure 1 with the diagonal."""
    w, total = (yield), initial
    while True:
        gradient, rate = yield w
        total = total + gradient**2
        w = w - rate * gradient / np.sqrt(total + epsilon)


def adadelta(rho=0.95, epsilon=1e-7):
    """Zeiler 2012, algorithm 1."""
    w, of_gradients, of_steps = (yield), 0.0, 0.0
    while True:
        gradient, rate = yield w
        of_gradients = rho * of_gradients + (1 - rho) * gradient**2
        step = -np.sqrt(of_steps + epsilon) / np.sqrt(of_gradients + epsilon) * gradient
        of_steps = rho * of_steps + (1 - rho) * step**2
        w = w + rate * step


def adamax(beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    """Kingma and Ba, ICLR 2015, algorithm 2."""
    w, m, u, t = (yield), 0.0, 0.0, 0
    while True:
        gradient, rate = yield w
        t += 1
        m = beta_1 * m + (1 - beta_1) * gradient
        u = np.maximum(beta_2 * u, np.abs(gradient))
        w = w - rate / (1 - beta_1**t) * m / (u + epsilon)


def nadam(beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    """Dozat, ICLR workshop 2016, algorithm 2, with the schedule of momenta of its section 3."""
    w, m, v, product, t = (yield), 0.0, 0.0, 1.0, 0
    while True:
        gradient, rate = yield w
        t += 1
        mu, following = (beta_1 * (1 - 0.5 * 0.96**i) for i in (t, t + 1))
        product *= mu
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        ahead = following * m / (1 - product * following) + (1 - mu) * gradient / (1 - product)
        w = w - rate * ahead / (np.sqrt(v / (1 - beta_2**t)) + epsilon)


def ftrl(power=-0.5, initial=0.1, l1=0.0, l2=0.0, shrinkage=0.0, beta=0.0):
    """McMahan et al., KDD 2013, algorithm 1, in closed form; the penalties as TensorFlow scales them."""
    w, n, z = (yield), initial, 0.0
    while True:
        gradient, rate = yield w
        after = n + gradient**2
        z = z + gradient + 2 * shrinkage * w - (after**-power - n**-power) / rate * w
        n = after
        size = (beta + n**-power) / rate + 2 * l2
        w = np.where(np.abs(z) <= l1, 0.0, -(z - np.sign(z) * l1) / size)


def lion(beta_1=0.9, beta_2=0.99):
    """Chen et al. 2023, algorithm 2."""
    w, m = (yield), 0.0
    while True:
        gradient, rate = yield w
        w = w - rate * np.sign(beta_1 * m + (1 - beta_1) * gradient)
        m = beta_2 * m + (1 - beta_2) * gradient


def lamb(beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    """You et al., ICLR 2020, algorithm 2 without decay; the ratio is 1 if a norm is 0."""
    w, m, v, t = (yield), 0.0, 0.0, 0
    while True:
        gradient, rate = yield w
        t += 1
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        step = m / (1 - beta_1**t) / (np.sqrt(v / (1 - beta_2**t)) + epsilon)
        norm, length = np.sqrt(np.sum(np.square(w))), np.sqrt(np.sum(np.square(step)))
        w = w - rate * (norm / length if norm * length > 0 else 1.0) * step


def root_mean_square(x):
    return np.sqrt(np.mean(np.square(x)))


def adafactor(decay=-0.8, epsilon_1=1e-30, epsilon_2=1e-3, threshold=1.0, relative=True):
    """Shazeer and Stern 2018, algorithms 4 (matrices) and 5."""
    w, rows, columns, v, t = (yield), 0.0, 0.0, 0.0, 0
    while True:
        gradient, rate = yield w
        t += 1
        size = max(epsilon_2, root_mean_square(w)) * (min(rate, t**-0.5) if relative else rate)
        beta, squares = 1 - t**decay, gradient**2 + epsilon_1
        if np.ndim(w) < 2:
            v = beta * v + (1 - beta) * squares
        else:
            rows = beta * rows + (1 - beta) * np.sum(squares, -1, keepdims=True)
            columns = beta * columns + (1 - beta) * np.sum(squares, -2, keepdims=True)
            v = rows * columns / np.sum(rows, -2, keepdims=True)
        step = gradient / np.sqrt(v)
        w = w - size * step / max(1.0, root_mean_square(step) / threshold)


def muon(momentum=0.95, nesterov=True, steps=5, rms_rate=0.2, ratio=1.0):
    """Jordan et al. 2024, by the singular values, on which the iteration acts; Adam for what is no matrix."""
    w = yield
    if np.ndim(w) != 2:
        update = adam()
        next(update)
        w = update.send(w)
        while True:
            gradient, rate = yield w
            w = update.send((gradient, rate * ratio))
    m = 0.0
    while True:
        gradient, rate = yield w
        m = momentum * m + gradient
        u, s, vt = np.linalg.svd(gradient + momentum * m if nesterov else m, full_matrices=False)
        s = s / (np.sqrt(np.sum(s**2)) + 1e-7)
        for _ in range(steps):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        scale = 1.0 if rms_rate is None else rms_rate * np.sqrt(max(w.shape))
        w = w - rate * scale * (u * s) @ vt


Case = tuple[Callable[[Any], jt.optimizers.Optimizer], Callable[[], Any]]

CASES: dict[str, Case] = {
    "sgd": (lambda rate: optimizers.SGD(rate), sgd),
    "momentum": (lambda rate: optimizers.SGD(rate, momentum=0.9), lambda: sgd(0.9)),
    "nesterov": (lambda rate: optimizers.SGD(rate, 0.8, True), lambda: sgd(0.8, True)),
    "adam": (lambda rate: optimizers.Adam(rate), adam),
    "adam of other constants": (
        lambda rate: optimizers.Adam(rate, 0.5, 0.9, 1e-3),
        lambda: adam(0.5, 0.9, 1e-3),
    ),
    "amsgrad": (
        lambda rate: optimizers.Adam(rate, beta_2=0.3, amsgrad=True),
        lambda: adam(beta_2=0.3, amsgrad=True),
    ),
    "adamw": (lambda rate: optimizers.AdamW(rate), adamw),
    "adamw of a greater decay": (lambda rate: optimizers.AdamW(rate, 0.3), lambda: adamw(0.3)),
    "rmsprop": (lambda rate: optimizers.RMSprop(rate), rmsprop),
    "rmsprop with momentum": (lambda rate: optimizers.RMSprop(rate, 0.8, 0.5), lambda: rmsprop(0.8, 0.5)),
    "rmsprop, centered": (
        lambda rate: optimizers.RMSprop(rate, centered=True, epsilon=1e-3),
        lambda: rmsprop(centered=True, epsilon=1e-3),
    ),
    "rmsprop, centered, with momentum": (
        lambda rate: optimizers.RMSprop(rate, 0.7, 0.9, 1e-4, True),
        lambda: rmsprop(0.7, 0.9, 1e-4, True),
    ),
    "adagrad": (lambda rate: optimizers.Adagrad(rate), adagrad),
    "adagrad from zero": (lambda rate: optimizers.Adagrad(rate, 0.0, 1e-3), lambda: adagrad(0.0, 1e-3)),
    "adadelta": (lambda rate: optimizers.Adadelta(rate), adadelta),
    "adadelta of other constants": (
        lambda rate: optimizers.Adadelta(rate, 0.5, 1e-2),
        lambda: adadelta(0.5, 1e-2),
    ),
    "adamax": (lambda rate: optimizers.Adamax(rate), adamax),
    "adamax of other constants": (
        lambda rate: optimizers.Adamax(rate, 0.5, 0.6, 1e-2),
        lambda: adamax(0.5, 0.6, 1e-2),
    ),
    "nadam": (lambda rate: optimizers.Nadam(rate), nadam),
    "nadam of other constants": (
        lambda rate: optimizers.Nadam(rate, 0.6, 0.7, 1e-3),
        lambda: nadam(0.6, 0.7, 1e-3),
    ),
    "ftrl": (lambda rate: optimizers.Ftrl(rate), ftrl),
    "ftrl with penalties": (
        lambda rate: optimizers.Ftrl(rate, -0.5, 0.2, 0.4, 0.3, 0.05, 0.7),
        lambda: ftrl(-0.5, 0.2, 0.4, 0.3, 0.05, 0.7),
    ),
    "ftrl of another power": (lambda rate: optimizers.Ftrl(rate, -0.3), lambda: ftrl(-0.3)),
    "lamb": (lambda rate: optimizers.Lamb(rate), lamb),
    "lamb of other constants": (
        lambda rate: optimizers.Lamb(rate, 0.5, 0.6, 1e-2),
        lambda: lamb(0.5, 0.6, 1e-2),
    ),
    "adafactor": (lambda rate: optimizers.Adafactor(rate), adafactor),
    "adafactor of other constants": (
        lambda rate: optimizers.Adafactor(rate, -0.5, 1e-3, 0.1, 0.5, False),
        lambda: adafactor(-0.5, 1e-3, 0.1, 0.5, False),
    ),
    "muon": (lambda rate: optimizers.Muon(rate, weight_decay=None, adam_weight_decay=None), muon),
    "muon of other constants": (
        lambda rate: optimizers.Muon(
            rate,
            weight_decay=None,
            adam_weight_decay=None,
            adam_lr_ratio=0.5,
            momentum=0.5,
            ns_steps=2,
            nesterov=False,
            rms_rate=None,
        ),
        lambda: muon(0.5, False, 2, None, 0.5),
    ),
    "lion": (lambda rate: optimizers.Lion(rate), lion),
    "lion of other constants": (lambda rate: optimizers.Lion(rate, 0.5, 0.6), lambda: lion(0.5, 0.6)),
}


def started(formula: Callable[[], Any], value: Any) -> Any:
    """A formula at work, from `value` on."""
    running = formula()
    next(running)
    running.send(value)
    return running
