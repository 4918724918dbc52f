"""Ten numerical programs as they are written for NumPy; `np` is NumPy or `jittape.numpy`."""

from __future__ import annotations

__all__ = ["PROGRAMS"]


def k_means(np):
    angles = np.arange(60) * 2.399963
    radii = 0.3 + 0.2 * np.sin(np.arange(60.0))
    points = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    points[20:40] += np.array([3.0, 0.0])
    points[40:] += [0.0, 4.0]
    centers = points[[0, 25, 50]].copy()
    labels = np.zeros(len(points), dtype=np.int64)
    for step in range(10):
        distances = np.linalg.norm(points[:, np.newaxis, :] - centers[np.newaxis], axis=2)
        nearest = np.argmin(distances, axis=1)
        if step > 0 and np.array_equal(nearest, labels):
            break
        labels = nearest
        for k in range(3):
            members = points[labels == k]
            if len(members):
                centers[k] = members.mean(axis=0)
    counts = np.bincount(labels, minlength=3)
    inertia = ((points - centers[labels]) ** 2).sum()
    return labels, centers, counts, inertia


def principal_components(np):
    t = np.linspace(0.0, 6.0, 40)
    data = np.column_stack([np.sin(t), 0.5 * np.sin(t) + 0.1 * np.cos(3 * t), np.cos(2 * t), t / 6])
    mean = data.mean(axis=0)
    centered = data - mean
    covariance = centered.T @ centered / (data.shape[0] - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), range(vectors.shape[1])])
    vectors = vectors * signs
    projected = centered @ vectors[:, :2]
    share = np.cumsum(values) / np.sum(values)
    enough = int(np.argmax(share > 0.95)) + 1
    restored = projected @ vectors[:, :2].T + mean
    error = np.sqrt(np.mean((restored - data) ** 2))
    return values, np.abs(projected), share, enough, error


def heat_equation(np):
    n, steps = 24, 60
    u = np.zeros((n, n))
    u[0, :] = 100.0
    u[:, -1] = np.linspace(100, 0, n)
    u[n // 3 : n // 2, n // 4 : n // 2] = 50
    alpha, dx = 0.2, 1.0
    history = []
    for step in range(steps):
        laplacian = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += alpha * laplacian / dx**2
        u[-1, :] = u[-2, :]
        u[:, 0] = u[:, 1]
        if step % 20 == 0:
            history.append(u.mean())
    hottest = np.unravel_index(np.argmax(u[1:-1, 1:-1]), (n - 2, n - 2))
    return u, np.array(history), hottest, u.max(), np.round(u[n // 2], 3)


def logistic_map(np):
    rates = np.linspace(2.5, 4.0, 31)
    x = np.full(rates.shape, 0.5)
    lyapunov = np.zeros_like(rates)
    for _ in range(20):
        x = rates * x * (1 - x)
    samples = np.empty((40, rates.size))
    for i in range(40):
        x = rates * x * (1 - x)
        lyapunov += np.log(np.abs(rates * (1 - 2 * x)) + 1e-12)
        samples[i] = x
    lyapunov /= 40
    chaotic = lyapunov > 0
    spread = np.ptp(samples, axis=0)
    settled = np.where(spread < 1e-6, samples[-1], np.nan)
    fixed = 1 - 1 / rates[rates < 2.9]
    error = np.abs(settled[: fixed.size] - fixed).max() < 1e-5
    return chaotic, spread[:8], lyapunov[:8], np.isnan(settled).sum(), error


def power_iteration(np):
    links = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 0, 1], [1, 0, 0, 1, 0]])
    n = links.shape[0]
    out = links.sum(axis=1, keepdims=True)
    transition = (links / np.maximum(out, 1)).T
    google = 0.85 * transition + 0.15 / n * np.ones((n, n))
    rank = np.ones(n) / n
    for _ in range(100):
        new = google @ rank
        new /= new.sum()
        change = np.linalg.norm(new - rank, ord=1)
        rank = new
        if change < 1e-10:
            break
    rayleigh = rank @ google @ rank / (rank @ rank)
    residual = google.dot(rank) - rayleigh * rank
    best = np.argsort(-rank, kind="stable")
    top = {int(page): round(float(rank[page]), 6) for page in best[:3]}
    return rank, best, sorted(top.items()), bool(np.all(np.abs(residual) < 1e-9)), out


def game_of_life(np):
    board = np.zeros((12, 12), dtype=np.int8)
    glider = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.int8)
    board[1:4, 1:4] = glider
    board[7, 6:9] = 1
    populations = []
    for _ in range(16):
        neighbors = sum(
            np.roll(np.roll(board, i, axis=0), j, axis=1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        alive = (neighbors == 3) | ((board == 1) & (neighbors == 2))
        board = alive.astype(np.int8)
        populations.append(int(board.sum()))
    rows, columns = np.nonzero(board)
    box = rows.min(), rows.max(), columns.min(), columns.max()
    density = board.mean()
    packed = (board * 2 ** np.arange(12)).sum(axis=1)
    any_dead = not np.all(board)
    return board, np.array(populations), box, density, packed, any_dead, np.count_nonzero(board)


def polynomial_fit(np):
    x = np.linspace(-1, 1, 21)
    y = 1.5 - 2.0 * x + 0.5 * x**3 + 0.01 * np.cos(25 * x)
    degree = 3
    design = np.vander(x, degree + 1, increasing=True)
    weights = np.where(np.abs(x) > 0.9, 0.5, 1.0)
    gram = design.T @ (weights[:, None] * design)
    moment = design.T @ (weights * y)
    coefficients = np.linalg.solve(gram, moment)
    fitted = design.dot(coefficients)
    residuals = y - fitted
    sigma2 = np.sum(weights * residuals**2) / (x.size - degree - 1)
    errors = np.sqrt(sigma2 * np.diag(np.linalg.inv(gram)))
    r_squared = 1 - residuals.var() / y.var()
    horner = np.zeros_like(x)
    for c in coefficients[::-1]:
        horner = horner * x + c
    slope = sum(k * coefficients[k] * x ** (k - 1) for k in range(1, degree + 1))
    return coefficients, errors, r_squared, np.allclose(horner, fitted), slope, np.max(np.abs(residuals))


def moving_average(np):
    t = np.arange(24)
    prices = 100 + 5 * np.sin(t / 5) + (t % 7 - 3) * 0.4
    window = 5
    cumulative = np.concatenate(([0.0], np.cumsum(prices)))
    simple = (cumulative[window:] - cumulative[:-window]) / window
    exponential = np.empty_like(prices)
    exponential[0] = prices[0]
    for i in range(1, len(prices)):
        exponential[i] = 0.3 * prices[i] + 0.7 * exponential[i - 1]
    returns = np.diff(prices) / prices[:-1]
    above = prices[window - 1 :] > simple
    crossings = np.flatnonzero(above[1:] != above[:-1])
    rolling = np.array([prices[i : i + window].std() for i in range(0, 16, 5)])
    drawdown = (np.array([float(prices[: i + 1].max()) for i in range(24)]) - prices).max()
    return simple, exponential, returns, crossings, rolling, drawdown, above.sum()


def softmax_regression(np):
    t = np.arange(45) * 1.3
    features = np.stack([np.sin(t) + (np.arange(45) % 3) * 2, np.cos(2 * t) - (np.arange(45) % 3)], axis=-1)
    labels = np.arange(45) % 3
    features = np.hstack([features, np.ones((45, 1))])
    targets = np.eye(3)[labels]
    weights = np.zeros((3, 3))
    losses = []
    for _ in range(40):
        scores = features @ weights
        scores -= scores.max(axis=1, keepdims=True)
        exponentials = np.exp(scores)
        probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
        losses.append(-np.mean(np.log(probabilities[np.arange(45), labels])))
        gradient = features.T @ (probabilities - targets) / len(labels)
        weights = weights - 0.5 * gradient
    predicted = probabilities.argmax(axis=1)
    accuracy = (predicted == labels).mean()
    confusion = np.zeros((3, 3), dtype=int)
    for truth, guess in zip(labels, predicted, strict=True):
        confusion[truth, guess] += 1
    return weights, np.array(losses), accuracy, confusion, predicted


def kalman_filter(np):
    dt = 0.1
    transition = np.array([[1, dt], [0, 1]])
    observe = np.array([[1.0, 0.0]])
    process = 0.01 * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    noise = np.array([[0.25]])
    t = np.arange(0, 5, dt)
    measured = 2 * t + 0.4 * np.sin(17 * t)
    state, covariance = np.zeros((2, 1)), np.eye(2) * 10
    track = np.zeros((t.size, 2))
    likelihood = 0.0
    for i, z in enumerate(measured):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + process
        innovation = np.atleast_2d(z) - observe @ state
        spread = observe @ covariance @ observe.T + noise
        gain = np.linalg.solve(spread.T, (covariance @ observe.T).T).T
        state = state + gain @ innovation
        covariance = (np.eye(2) - gain @ observe) @ covariance
        likelihood += -0.5 * (np.log(2 * np.pi * np.linalg.det(spread)) + (innovation**2 / spread).item())
        track[i] = state.ravel()
    return track, covariance, likelihood, np.trace(covariance), measured[-3:]


PROGRAMS = [
    k_means,
    principal_components,
    heat_equation,
    logistic_map,
    power_iteration,
    game_of_life,
    polynomial_fit,
    moving_average,
    softmax_regression,
    kalman_filter,
]
