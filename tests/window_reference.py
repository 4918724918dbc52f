"""Convolutions and pooling as loops over windows in NumPy; channels are last."""

from __future__ import annotations

import itertools

import numpy as np


def pairs_of(extents, kernel, strides, padding, dilations):
    """Return the padding of each spatial dimension."""
    if padding == "VALID":
        return [(0, 0)] * len(extents)
    if padding != "SAME":
        return padding[1:-1]
    pairs = []
    for n, k, s, d in zip(extents, kernel, strides, dilations, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def windows_of(x, kernel, strides, padding, dilations, fill=0.0):
    """Return an array of shape (batch, outputs..., kernel..., channels)."""
    rank = len(kernel)
    pairs = pairs_of(x.shape[1:-1], kernel, strides, padding, dilations)
    x = np.pad(x, [(0, 0), *pairs, (0, 0)], constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    outputs = [(n - r) // s + 1 for n, r, s in zip(x.shape[1:-1], reach, strides, strict=True)]
    found = np.empty((x.shape[0], *outputs, *kernel, x.shape[-1]), x.dtype)
    for at in itertools.product(*map(range, outputs)):
        parts = [slice(i * s, i * s + r, d) for i, s, r, d in zip(at, strides, reach, dilations, strict=True)]
        found[(slice(None), *at)] = x[(slice(None), *parts)].reshape(x.shape[0], *kernel, x.shape[-1])
    assert found.ndim == 2 + 2 * rank
    return found


def convolved(x, w, strides, padding="VALID", dilations=None):
    kernel, (inputs, outputs) = w.shape[:-2], w.shape[-2:]
    rank = len(kernel)
    patches = windows_of(x, kernel, strides, padding, dilations or (1,) * rank)
    groups = x.shape[-1] // inputs
    axes = (list(range(1 + rank, 2 + 2 * rank)), list(range(rank + 1)))
    each = outputs // groups
    return np.concatenate(
        [
            np.tensordot(patches[..., g * inputs : (g + 1) * inputs], w[..., g * each : (g + 1) * each], axes)
            for g in range(groups)
        ],
        -1,
    )


def pooled(x, kind, kernel, strides, padding, dilations=None):
    axes = tuple(range(1 + len(kernel), 1 + 2 * len(kernel)))
    options = (kernel, strides, padding, dilations or (1,) * len(kernel))
    if kind == "MAX":
        return windows_of(x, *options, -np.inf).max(axes)
    return windows_of(x, *options).sum(axes) / windows_of(np.ones_like(x), *options).sum(axes)


def transposed(g, w, shape, strides, padding="SAME", dilations=None):
    """Add the product of each element of `g` and the filters to its window of the result."""
    kernel = w.shape[:-2]
    dilations = dilations or (1,) * len(kernel)
    pairs = pairs_of(shape[1:-1], kernel, strides, padding, dilations)
    sizes = [n + before + after for n, (before, after) in zip(shape[1:-1], pairs, strict=True)]
    result = np.zeros((shape[0], *sizes, shape[-1]), g.dtype)
    places = windows_of(np.arange(result.size).reshape(result.shape), kernel, strides, "VALID", dilations)
    np.add.at(result.reshape(-1), places, np.tensordot(g, w, (-1, -1)))
    inner = [slice(before, before + n) for n, (before, _) in zip(shape[1:-1], pairs, strict=True)]
    return result[(slice(None), *inner)]
