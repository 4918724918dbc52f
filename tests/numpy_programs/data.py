"""Data analysis: statistics, interpolation, histograms and counting."""

from __future__ import annotations


def _noise(np, n, seed=1):
    """Return numbers between 0 and 1 that look random, the same for every namespace."""
    k = np.arange(n, dtype=np.int64)
    return ((k * 1103515245 + 12345 * seed) % 65536 * 40503 % 65521) / 65521


def histogram_equalization(np):
    i, j = np.meshgrid(np.arange(12), np.arange(10), indexing="ij")
    picture = (60 + 5 * i + 3 * j + 20 * ((i + j) % 3 == 0)).astype(np.uint8)
    counts, edges = np.histogram(picture, bins=256, range=(0, 256))
    cdf = counts.cumsum()
    lowest = cdf[cdf > 0].min()
    table = np.round((cdf - lowest) / (picture.size - lowest) * 255).astype("uint8")
    equalized = table[picture]
    return (
        equalized,
        edges[:3],
        counts[60:70],
        equalized.mean(),
        equalized.dtype.name,
        np.unique(equalized).size,
    )


def bootstrap(np):
    sample = np.sort(_noise(np, 12)) * 10
    picks = (_noise(np, 12 * 40, seed=3) * 12).astype(int).reshape(40, 12)
    means = sample[picks].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    inside = np.logical_and(means >= low, means <= high)
    return low, high, inside.sum(), means.std(ddof=1), np.median(sample), np.where(inside)[0][:5]


def polynomial_fit(np, p=0.3):
    x = np.arange(-3.0, 3.5, 0.5)
    y = 1 - 2 * x + p * x**3 + 0.05 * np.cos(7 * x)
    coefficients = np.polyfit(x, y, 3)
    fitted = np.polyval(coefficients, x)
    degrees = [1, 2, 3]
    losses = np.array([np.sum((y - np.polyval(np.polyfit(x, y, d), x)) ** 2) for d in degrees])
    slope = np.polyval(np.polyder(coefficients), 1.0)
    return slope + losses[0], coefficients, losses, np.argmin(losses), np.corrcoef(y, fitted)[0, 1]


def interpolation(np, p=0.7):
    nodes = np.array([0.0, 1.0, 2.5, 4.0])
    values = np.array([1.0, p, 2.0, 0.5])
    grid = np.linspace(0, 4, 9)
    lagrange = np.zeros_like(grid)
    for i in range(len(nodes)):
        basis = np.ones_like(grid)
        for j in range(len(nodes)):
            if i != j:
                basis *= (grid - nodes[j]) / (nodes[i] - nodes[j])
        lagrange += values[i] * basis
    linear = np.interp(grid, nodes, values)
    return np.max(np.abs(lagrange)) + linear @ lagrange, lagrange, linear, np.searchsorted(nodes, grid)


def correlations(np, p=0.5):
    t = np.arange(20) / 4.0
    data = np.array([np.sin(t), np.sin(t + p), t % 1.0])
    z = (data - data.mean(axis=1, keepdims=True)) / data.std(axis=1, keepdims=True)
    correlation = z @ z.T / z.shape[1]
    upper = correlation[np.triu_indices(3, k=1)]
    ranks = data.argsort(axis=1, kind="stable").argsort(axis=1)
    return upper[0], upper, np.allclose(correlation, np.corrcoef(data)), ranks[:, :4], np.cov(data).ndim


def word_counts(np):
    text = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3])
    words, counts = np.unique(text, return_counts=True)
    order = np.lexsort((words, -counts))
    frequencies = counts / counts.sum()
    entropy = -np.sum(frequencies * np.log2(frequencies))
    matrix = np.zeros((10, 10), dtype=int)
    np.add.at(matrix, (text[:-1], text[1:]), 1)
    return words[order], counts[order], entropy, np.bincount(text), np.argwhere(matrix > 0)[:4], matrix.sum()


def moving_averages(np):
    prices = np.round(100 + np.cumsum(_noise(np, 24, seed=7) - 0.5) * 4, 2)
    window = 5
    average = np.convolve(prices, np.ones(window) / window, mode="valid")
    returns = np.diff(prices) / prices[:-1]
    signal = np.where(prices[window - 1 :] > average, 1, -1)
    changes = np.flatnonzero(np.diff(signal)) + 1
    peak = np.maximum.accumulate(prices)
    drawdown = ((peak - prices) / peak).max()
    table = np.vstack((average[:3], signal[:3]))
    return average, signal, changes, drawdown, table, np.prod(1 + returns) - 1, returns.clip(-0.01, 0.01)[:4]


def missing_values(np):
    table = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan], [7.0, 8.0, 9.0]])
    missing = np.isnan(table)
    means = np.nanmean(table, axis=0)
    filled = np.where(missing, means, table)
    table[missing] = -1.0
    rows = ~missing.any(axis=1)
    return (
        means,
        filled,
        table,
        filled[rows],
        missing.sum(axis=0),
        np.nanmax(filled),
        np.count_nonzero(missing),
    )
