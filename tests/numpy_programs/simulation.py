"""Simulations: random walks, chains, games and prices. Each namespace takes the same numbers that look random."""

from __future__ import annotations


def _uniform(np, n, seed=1):
    k = np.arange(n, dtype=np.int64) + 1000 * seed
    return ((k * k * 7919 + k * 104729) % 65537 + 0.5) / 65537


def _normal(np, n, seed=1):
    u, v = _uniform(np, n, seed), _uniform(np, n, seed + 1)
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


def monte_carlo_pi(np):
    x, y = _uniform(np, 500), _uniform(np, 500, seed=2)
    inside = x**2 + y**2 <= 1
    running = 4 * np.cumsum(inside) / np.arange(1, 501)
    error = abs(running[-1] - np.pi)
    return 4 * inside.mean(), running[[9, 99, 499]], error < 0.2, np.count_nonzero(inside)


def random_walk(np):
    steps = np.where(_uniform(np, 400).reshape(8, 50) < 0.5, -1, 1)
    walks = steps.cumsum(axis=1)
    crossing = np.abs(walks) >= 5
    hits = crossing.any(axis=1)
    times = crossing[hits].argmax(axis=1)
    return (
        walks[:, -1],
        hits,
        times,
        (walks.astype(float) ** 2).mean(axis=0)[::10],
        steps.dtype.name,
        walks.min(),
    )


def markov_chain(np, p=0.2):
    P = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
    P[0] = np.array([1 - p - 0.1, p, 0.1])
    state = np.array([1, 0, 0])
    for _ in range(50):
        state = state @ P
    power = np.linalg.matrix_power(P, 50)
    values, vectors = np.linalg.eig(P.T.copy())
    closest = np.argmin(np.abs(values - 1))
    stationary = np.real(vectors[:, closest] / vectors[:, closest].sum())
    return state[0], state, power[1], stationary, np.allclose(state.sum(), 1)


def metropolis(np):
    proposals, accepts = _normal(np, 150, seed=3), _uniform(np, 150, seed=5)

    def log_density(x):
        return -0.5 * (x - 1) ** 2 / 0.5

    x, chain, accepted = np.float64(0.0), np.empty(150), 0
    for i in range(150):
        candidate = x + proposals[i]
        if np.log(accepts[i]) < log_density(candidate) - log_density(x):
            x = candidate
            accepted += 1
        chain[i] = x
    return chain[50:].mean(), chain.std(), accepted, np.histogram(chain, bins=4, range=(-1, 3))[0]


def game_of_life(np):
    board = np.zeros((8, 8), dtype=int)
    board[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    populations = []
    for _ in range(6):
        neighbors = sum(
            np.roll(np.roll(board, i, axis=0), j, axis=1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        board = ((neighbors == 3) | ((board == 1) & (neighbors == 2))).astype(int)
        populations.append(board.sum())
    return board, np.array(populations), np.argwhere(board)[0], board.any(axis=0)


def black_scholes(np, p=0.2):
    S0, K, r, T = 100.0, np.array([90.0, 100.0, 110.0]), 0.03, 0.5

    def cdf(x):
        t = 1 / (1 + 0.2316419 * np.abs(x))
        series = t * (
            0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
        )
        tail = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * series
        return np.where(x >= 0, 1 - tail, tail)

    d1 = (np.log(S0 / K) + (r + 0.5 * p**2) * T) / (p * np.sqrt(T))
    d2 = d1 - p * np.sqrt(T)
    call = S0 * cdf(d1) - K * np.exp(-r * T) * cdf(d2)
    put = call - S0 + K * np.exp(-r * T)
    z = _normal(np, 200, seed=7)
    paths = S0 * np.exp((r - 0.5 * p**2) * T + p * np.sqrt(T) * z)
    payoffs = np.exp(-r * T) * np.maximum(paths[:, None] - K, 0)
    return call.sum(), call, put, payoffs.mean(axis=0), payoffs.std(axis=0) / np.sqrt(len(z))


def ising_model(np):
    spins = np.where(_uniform(np, 36).reshape(6, 6) > 0.4, 1, -1)
    u = _uniform(np, 60, seed=9)
    for step in range(60):
        i, j = step * 5 % 6, step * 7 // 6 % 6
        total = spins[(i + 1) % 6, j] + spins[i - 1, j] + spins[i, (j + 1) % 6] + spins[i, j - 1]
        dE = 2 * spins[i, j] * total
        if dE <= 0 or u[step] < np.exp(-dE / 2.0):
            spins[i, j] *= -1
    energy = -np.sum(spins * np.roll(spins, 1, 0)) - np.sum(spins * np.roll(spins, 1, 1))
    return spins, energy, np.abs(spins.mean()), spins.dtype.name


def planets(np, p=1.0):
    r = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    v = np.array([[0.0, 0.0], [0.0, 1.0], [-0.7, 0.0]])
    m = np.array([p, 1e-3, 1e-3])
    dt = 0.02

    def acceleration(r):
        d = r[np.newaxis, :, :] - r[:, np.newaxis, :]
        distance = (d**2).sum(axis=-1) + np.eye(3)
        return ((m / distance**1.5)[:, :, None] * d).sum(axis=1)

    a = acceleration(r)
    for _ in range(15):
        v += 0.5 * dt * a
        r += dt * v
        a = acceleration(r)
        v += 0.5 * dt * a
    kinetic = 0.5 * (m * (v**2).sum(axis=1)).sum()
    return r[1, 1] * v[1, 0], r, kinetic, np.linalg.norm(r, axis=1).argmax(), (m[:, None] * v).sum(axis=0)
