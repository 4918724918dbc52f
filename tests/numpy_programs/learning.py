"""Learning: regressions, networks, clusters and filters."""

from __future__ import annotations


def _points(np):
    k = np.arange(24)
    a = np.stack([np.cos(2.4 * k), np.sin(1.7 * k)], axis=-1)
    labels = (k % 2).astype(float)
    return a + 1.2 * labels[:, None], labels


def logistic_regression(np, p=0.5):
    X, y = _points(np)
    X = np.hstack([np.ones((X.shape[0], 1)), X])
    w = np.zeros(X.shape[1])
    losses = []
    for _ in range(25):
        q = 1 / (1 + np.exp(-X @ w))
        w -= p * (X.T @ (q - y)) / len(y)
        losses.append(-np.mean(y * np.log(q) + (1 - y) * np.log(1 - q)))
    accuracy = ((X @ w > 0) == y).mean()
    return losses[-1], w, np.array(losses)[:3], accuracy


def gradient_descent(np, p=0.02):
    def f(v):
        return (1 - v[0]) ** 2 + 5 * (v[1] - v[0] ** 2) ** 2

    def slope(v):
        return np.array([-2 * (1 - v[0]) - 20 * v[0] * (v[1] - v[0] ** 2), 10 * (v[1] - v[0] ** 2)])

    v, m = np.array([-1.0, 1.0]), np.zeros(2)
    best = np.inf
    for _ in range(30):
        m = 0.5 * m + slope(v)
        v = v - p * m
        best = min(best, float(f(v)))
    return f(v), v, best < 5.0, np.linalg.norm(slope(v))


def neural_network(np, p=0.3):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([[0], [1], [1], [0]])
    W1 = np.sin(np.arange(8.0)).reshape(2, 4)
    b1, W2, b2 = np.zeros((1, 4)), np.cos(np.arange(4.0)).reshape(4, 1), np.zeros((1, 1))
    for _ in range(10):
        hidden = np.tanh(X @ W1 + b1)
        output = 1 / (1 + np.exp(-(hidden @ W2 + b2)))
        delta2 = (output - y) * output * (1 - output)
        delta1 = (delta2 @ W2.T) * (1 - hidden**2)
        W2 -= p * hidden.T @ delta2
        b2 -= p * delta2.sum(axis=0, keepdims=True)
        W1 -= p * X.T @ delta1
        b1 -= p * np.sum(delta1, axis=0, keepdims=True)
    return np.mean((output - y) ** 2), output.ravel(), W1, (output > 0.5).astype(int).T


def kalman_filter(np, p=0.1):
    dt = 1.0
    F, H = np.array([[1, dt], [0, 1]]), np.array([[1.0, 0.0]])
    Q, R = p * np.eye(2), np.array([[0.5]])
    x, P = np.zeros((2, 1)), np.eye(2) * 10
    measurements = [1.1, 1.9, 3.2, 3.9, 5.1]
    track = []
    for z in measurements:
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (z - H @ x)
        P = (np.eye(2) - K @ H) @ P
        track.append(x[:, 0])
    return x[0, 0] + x[1, 0], np.array(track), P, K.T, np.linalg.det(P) > 0


def k_nearest_neighbors(np):
    X, y = _points(np)
    queries = np.array([[0.0, 0.0], [1.2, 1.5], [3.0, 1.0]])
    squared = (queries**2).sum(1)[:, np.newaxis] + np.sum(X**2, axis=1) - 2 * queries @ X.T
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :5]
    votes = y[nearest].astype(int)
    winners = np.array([np.bincount(v, minlength=2).argmax() for v in votes])
    return (
        winners,
        nearest,
        np.sqrt(np.maximum(squared, 0)).min(axis=1),
        np.take_along_axis(squared, nearest, 1),
    )


def softmax_classifier(np, p=1.0):
    X, y = _points(np)
    classes = (2 * y + (X[:, 0] > 0.5)).astype(int)
    one_hot = np.eye(4)[classes]
    W = np.zeros((2, 4))
    for _ in range(10):
        scores = X @ W
        scores -= scores.max(axis=1, keepdims=True)
        probabilities = np.exp(scores)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        W += p * X.T.dot(one_hot - probabilities) / len(X)
    loss = -np.log(probabilities[range(len(X)), classes]).mean()
    return loss, W, probabilities.argmax(axis=-1), np.unique(classes)
