"""Programs that write in place, draw waiting times, or step through a sequence."""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit
def kalman(rate, noise, measured):
    """Log-likelihood of a filter for position and velocity, with updates in place."""
    state, p, next_p = np.zeros(2), np.zeros((2, 2)), np.empty((2, 2))
    p[0, 0] = p[1, 1] = 1.0
    total = 0.0
    for k in range(len(measured)):
        state[0] += rate * state[1]
        state[1] *= 0.99
        next_p[0, 0] = p[0, 0] + rate * (p[0, 1] + p[1, 0]) + rate * rate * p[1, 1] + noise
        next_p[0, 1] = 0.99 * (p[0, 1] + rate * p[1, 1])
        next_p[1, 0] = 0.99 * (p[1, 0] + rate * p[1, 1])
        next_p[1, 1] = 0.9801 * p[1, 1] + noise
        s = next_p[0, 0] + 0.5
        residual = measured[k] - state[0]
        total -= 0.5 * (residual * residual / s + math.log(s))
        gain0, gain1 = next_p[0, 0] / s, next_p[1, 0] / s
        state[0] += gain0 * residual
        state[1] += gain1 * residual
        for j in range(2):
            p[0, j] = next_p[0, j] - gain0 * next_p[0, j]
            p[1, j] = next_p[1, j] - gain1 * next_p[0, j]
    return total


@numba.njit
def gillespie(rates, uniform, end):
    """Mean population of a birth and death process up to a time, by smoothed counts."""
    time, population, area, step = 0.0, 10.0, 0.0, 0
    while time < end and step < len(uniform):
        birth, death = rates[0] / (1.0 + rates[2] * population), rates[1] * population
        total = birth + death
        wait = -math.log(uniform[step, 0]) / total
        if time + wait > end:
            wait = end - time
        area += population * wait
        time += wait
        if uniform[step, 1] * total < birth:
            population += 1.0 - math.exp(-birth)
        else:
            population -= 1.0 - math.exp(-death)
        step += 1
    return area / end


@numba.njit
def lstm(weights, inputs):
    """Sum of the outputs of one LSTM cell over a sequence; ``weights`` is (4, units, units + features + 1)."""
    units, features = weights.shape[1], inputs.shape[1]
    h, c, gates = np.zeros(units), np.zeros(units), np.empty((4, units))
    total = 0.0
    for t in range(inputs.shape[0]):
        for g in range(4):
            for u in range(units):
                z = weights[g, u, units + features]
                for k in range(units):
                    z += weights[g, u, k] * h[k]
                for k in range(features):
                    z += weights[g, u, units + k] * inputs[t, k]
                gates[g, u] = z
        for u in range(units):
            i, f = 1.0 / (1.0 + math.exp(-gates[0, u])), 1.0 / (1.0 + math.exp(-gates[1, u]))
            c[u] = f * c[u] + i * math.tanh(gates[2, u])
            h[u] = math.tanh(c[u]) / (1.0 + math.exp(-gates[3, u]))
            total += h[u]
    return total
