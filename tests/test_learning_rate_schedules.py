"""Learning rate schedules against their formulas in NumPy, and what they refuse."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import jittape as jt

schedules = jt.optimizers.schedules


def cosine(fraction, alpha=0.0, height=1.0):
    return (1 - alpha) * 0.5 * height * (1 + math.cos(math.pi * fraction)) + alpha


def restarts(first, steps, t_mul, m_mul, alpha):
    """Loshchilov and Hutter, ICLR 2017, equation 5, period by period."""

    def rate(step):
        length, height = steps, 1.0
        while step >= length:
            step, length, height = step - length, length * t_mul, height * m_mul
        return first * cosine(step / length, alpha, height)

    return rate


def warm(step):
    return 0.01 + (0.2 - 0.01) * step / 5 if step < 5 else 0.2 * cosine(min(step - 5, 10) / 10, 0.1)


def cycled(step):
    length = 10 * max(1, math.ceil(step / 10))
    return (0.1 - 0.0001) * (1 - step / length) ** 0.5 + 0.0001


CASES = {
    "exponential": (schedules.ExponentialDecay(0.1, 7, 0.8), lambda t: 0.1 * 0.8 ** (t / 7)),
    "exponential staircase": (schedules.ExponentialDecay(0.1, 7, 0.8, True), lambda t: 0.1 * 0.8 ** (t // 7)),
    "inverse time": (schedules.InverseTimeDecay(0.1, 7, 0.8), lambda t: 0.1 / (1 + 0.8 * t / 7)),
    "inverse time staircase": (
        schedules.InverseTimeDecay(0.1, 7, 0.8, True),
        lambda t: 0.1 / (1 + 0.8 * (t // 7)),
    ),
    "piecewise": (
        schedules.PiecewiseConstantDecay([3, 7, 12], [0.4, 0.3, 0.2, 0.1]),
        lambda t: 0.4 if t <= 3 else 0.3 if t <= 7 else 0.2 if t <= 12 else 0.1,
    ),
    "constant": (schedules.PiecewiseConstantDecay([], [0.4]), lambda t: 0.4),
    "polynomial": (
        schedules.PolynomialDecay(0.1, 10, 0.01, 2.0),
        lambda t: (0.1 - 0.01) * (1 - min(t, 10) / 10) ** 2 + 0.01,
    ),
    "polynomial cycle": (schedules.PolynomialDecay(0.1, 10, power=0.5, cycle=True), cycled),
    "cosine": (schedules.CosineDecay(0.1, 10, 0.25), lambda t: 0.1 * cosine(min(t, 10) / 10, 0.25)),
    "cosine after a warmup": (schedules.CosineDecay(0.01, 10, 0.1, warmup_target=0.2, warmup_steps=5), warm),
    "cosine after no warmup": (
        schedules.CosineDecay(0.01, 10, warmup_target=0.2),
        lambda t: 0.2 * cosine(min(t, 10) / 10),
    ),
    "restarts": (schedules.CosineDecayRestarts(0.1, 5, m_mul=0.7, alpha=0.1), restarts(0.1, 5, 2, 0.7, 0.1)),
    "equal restarts": (schedules.CosineDecayRestarts(0.1, 5, 1.0, 0.7), restarts(0.1, 5, 1, 0.7, 0.0)),
    "restarts of three": (schedules.CosineDecayRestarts(0.1, 1, 3.0), restarts(0.1, 1, 3, 1.0, 0.0)),
    "restarts of five": (schedules.CosineDecayRestarts(0.1, 2, 5.0, 0.9), restarts(0.1, 2, 5, 0.9, 0.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_formulas(name, mode):
    schedule, formula = CASES[name]
    for step in [*range(45), 93, 121, 364, 1000]:
        assert float(schedule(step)) == pytest.approx(formula(step), rel=1e-13, abs=1e-15), step


@pytest.mark.parametrize("name", CASES)
def test_steps_of_all_kinds(name):
    schedule, formula = CASES[name]
    for step in (
        np.int32(6),
        np.float32(6),
        jt.constant(6),
        jt.Variable(6, dtype="int64"),
        jt.constant(6.0),
        6.0,
    ):
        rate = schedule(step)
        assert (rate.shape, rate.dtype) == ((), jt.float64)
        assert float(rate) == pytest.approx(formula(6), rel=1e-13)
    assert float(jt.function(schedule)(6)) == pytest.approx(formula(6), rel=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_goes_by_the_steps_done(name):
    schedule, formula = CASES[name]
    w, optimizer = jt.Variable(np.zeros(())), jt.optimizers.SGD(schedule)
    for t in range(12):
        optimizer.apply_gradients([(-1.0, w)])
        assert float(w) == pytest.approx(sum(formula(i) for i in range(t + 1)), rel=1e-12)


def test_restarts_are_not_missed_by_rounding(mode):
    """log(3**5) / log(3) is below 5 in double precision."""
    assert math.log(3**5) / math.log(3) < 5
    schedule = schedules.CosineDecayRestarts(1.0, 2, t_mul=3.0, m_mul=0.5)
    for i in range(8):
        start = 2 * (3**i - 1) // 2
        assert float(schedule(start)) == pytest.approx(0.5**i, rel=1e-12)
        assert start == 0 or float(schedule(start - 1)) < 0.5 ** (i - 1) * 0.6


@pytest.mark.parametrize("name", CASES)
def test_schedules_are_plain_data(name):
    schedule, _ = CASES[name]
    stored = json.loads(json.dumps(schedules.serialize(schedule)))
    again = schedules.deserialize(stored)
    assert type(again) is type(schedule)
    assert again.get_config() == schedule.get_config()
    assert float(again(7)) == pytest.approx(float(schedule(7)), rel=1e-14)


MISTAKES = [
    (
        lambda: schedules.ExponentialDecay(0.1, 0, 0.5),
        ValueError,
        "ExponentialDecay: `decay_steps` must be greater",
    ),
    (
        lambda: schedules.ExponentialDecay(-0.1, 5, 0.5),
        ValueError,
        "`initial_learning_rate` must be at least 0",
    ),
    (lambda: schedules.ExponentialDecay(0.1, 5, -0.5), ValueError, "`decay_rate` must be at least 0"),
    (lambda: schedules.ExponentialDecay(0.1, 5, 0.5, "x"), TypeError, "`staircase` must be True or False"),
    (lambda: schedules.InverseTimeDecay("x", 5, 0.5), TypeError, "`initial_learning_rate` must be a number"),
    (lambda: schedules.InverseTimeDecay(0.1, float("nan"), 0.5), ValueError, "got nan"),
    (
        lambda: schedules.PiecewiseConstantDecay([1, 2], [0.1]),
        ValueError,
        "length of boundaries should be 1 less",
    ),
    (lambda: schedules.PiecewiseConstantDecay([2, 1], [0.1] * 3), ValueError, "`boundaries` must increase"),
    (lambda: schedules.PiecewiseConstantDecay([1], [0.1, "x"]), TypeError, r"`values\[1\]` must be a number"),
    (lambda: schedules.PolynomialDecay(0.1, 5, power=-1.0), ValueError, "`power` must be at least 0"),
    (lambda: schedules.CosineDecay(0.1, -5), ValueError, "`decay_steps` must be greater than 0"),
    (lambda: schedules.CosineDecay(0.1, 5, warmup_steps=-1), ValueError, "`warmup_steps` must be at least 0"),
    (lambda: schedules.CosineDecayRestarts(0.1, 5, t_mul=0.5), ValueError, "`t_mul` must be at least 1"),
    (lambda: schedules.CosineDecayRestarts(0.1, 0), ValueError, "`first_decay_steps` must be greater than 0"),
    (lambda: schedules.LearningRateSchedule()(3), NotImplementedError, r"must define __call__\(step\)"),
    (lambda: schedules.serialize(3), TypeError, "a int cannot be stored"),
    (lambda: schedules.deserialize({"class_name": "Mine"}), ValueError, "there is no schedule 'Mine'"),
]


@pytest.mark.parametrize(("made", "error", "message"), MISTAKES, ids=[m[:40] for _, _, m in MISTAKES])
def test_mistakes(made, error, message):
    with pytest.raises(error, match=message):
        made()
