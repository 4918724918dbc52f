"""Certified fits of the Statistical Reference Datasets of NIST, whose parameters differ in size by up to a million."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jittape as jt

__all__ = ["FITS", "CertifiedFit"]


class CertifiedFit(NamedTuple):
    """A model, its data, NIST's first start, which is far away, and the certified parameters."""

    model: Callable[..., Any]
    x: Any
    y: Any
    start: dict[str, float]
    values: list[float]
    errors: list[float]


FITS = {
    "Misra1a": CertifiedFit(
        lambda p, x: p["b1"] * (1.0 - jt.exp(-p["b2"] * x)),
        np.array(
            [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0]
        ),
        np.array(
            [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.4, 75.47, 81.78]
        ),
        {"b1": 500.0, "b2": 1e-4},
        [238.94212918, 5.5015643181e-4],
        [2.7070075241, 7.2668688436e-6],
    ),
    "Rat42": CertifiedFit(
        lambda p, x: p["b1"] / (1.0 + jt.exp(p["b2"] - p["b3"] * x)),
        np.array([9.0, 14.0, 21.0, 28.0, 42.0, 57.0, 63.0, 70.0, 79.0]),
        np.array([8.93, 10.8, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08]),
        {"b1": 100.0, "b2": 1.0, "b3": 0.1},
        [72.462237576, 2.6180768402, 0.067359200066],
        [1.7340283401, 0.088295217536, 0.0034465663627],
    ),
    "DanWood": CertifiedFit(
        lambda p, x: p["b1"] * x ** p["b2"],
        np.array([1.309, 1.471, 1.49, 1.565, 1.611, 1.68]),
        np.array([2.138, 3.421, 3.597, 4.34, 4.882, 5.66]),
        {"b1": 1.0, "b2": 5.0},
        [0.76886226176, 3.8604055871],
        [0.01828197386, 0.051726610913],
    ),
}
