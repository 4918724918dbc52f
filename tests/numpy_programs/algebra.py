"""Linear algebra: decompositions, iterations, least squares and low rank."""

from __future__ import annotations


def least_squares(np, p=0.5):
    t = np.linspace(0, 1, 15)
    y = 1.5 * t + np.cos(p * 6 * t)
    X = np.vstack([np.ones_like(t), t, t**2]).T
    beta = np.linalg.solve(X.T @ X, X.T @ y)
    residual = y - X @ beta
    sigma2 = (residual**2).sum() / (len(t) - X.shape[1])
    errors = np.sqrt(np.diag(sigma2 * np.linalg.inv(X.T @ X)))
    r2 = 1 - residual.var() / y.var()
    return r2, beta, errors, sigma2, np.allclose(X.T @ residual, 0, atol=1e-9)


def power_iteration(np, p=1.3):
    A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    A[0, 0] = 4.0 * p
    v = np.ones(3)
    for k in range(100):
        w = A @ v
        w /= np.linalg.norm(w)
        if k > 5 and np.abs(w - v).max() < 1e-9:
            break
        v = w
    value = v @ A @ v
    deflated = A - value * np.outer(v, v)
    return value, np.abs(v), np.linalg.eigvalsh(A)[::-1], np.trace(deflated), k


def gram_schmidt(np, p=2.0):
    A = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 4.0], [2.0, 0.1, 1.0], [0.0, 1.0, -1.0]])
    A[2, 0] = p
    n = A.shape[1]
    Q = np.zeros(A.shape)
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i].dot(A[:, j])
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.sqrt((v * v).sum())
        Q[:, j] = v / R[j, j]
    assert np.allclose(Q @ R, A)
    return R[2, 2] ** 2 + R[0, 1], Q, R, np.abs(Q.T @ Q - np.eye(n)).max() < 1e-12


def gaussian_elimination(np, p=3.0):
    A = np.array([[2, 1, -1, 0], [-3, -1, 2, 1], [-2, 1, 2, 0], [0, 1, 1, 3]], dtype=float)
    A[3, 3] = p
    b = np.array([8.0, -11.0, -3.0, 7.0])
    n, order = len(b), np.arange(len(b))
    for k in range(n - 1):
        pivot = k + int(np.argmax(np.abs(A[k:, k])))
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.empty(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x[3] * x[0], x, order, np.prod(A.diagonal())


def conjugate_gradients(np, p=0.1):
    n = 8
    A = np.diag(2 * np.ones(n)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1) + p * np.eye(n)
    b = np.sin(np.arange(n) + 1.0)
    x, r = np.zeros_like(b), b.copy()
    d, old, history = r.copy(), r @ r, []
    for _ in range(n):
        Ad = A.dot(d)
        alpha = old / d.dot(Ad)
        x = x + alpha * d
        r = r - alpha * Ad
        new = r @ r
        history.append(float(new))
        d, old = r + (new / old) * d, new
    return b @ x, x, len(history), history[-1] < 1e-18, np.linalg.cond(A) > 1


def matrix_factorization(np, p=0.05):
    R = np.array([[5, 3, 0, 1], [4, 0, 0, 1], [1, 1, 0, 5], [1, 0, 0, 4], [0, 1, 5, 4]], dtype=np.float64)
    mask = (R > 0).astype(float)
    i, j = np.indices((5, 2))
    U = 0.5 + 0.1 * np.cos(i + 2.0 * j)
    V = 0.5 + 0.1 * np.sin(np.arange(8).reshape(4, 2))
    for _ in range(20):
        E = mask * (R - U @ V.T)
        U, V = U + p * (E @ V - 0.02 * U), V + p * (E.T @ U - 0.02 * V)
    E = mask * (R - U @ V.T)
    return np.sum(E**2), np.sqrt(np.sum(E**2) / mask.sum()), U, V, np.round(U @ V.T, 1)[mask == 1]


def low_rank_picture(np):
    y, x = np.mgrid[0:8, 0:6]
    picture = ((x - 2) ** 2 + (y - 4) ** 2 < 9).astype(np.uint8) * 200 + 20
    U, s, Vt = np.linalg.svd(picture.astype(float), full_matrices=False)
    errors = []
    for k in (1, 2, 3):
        approximation = (U[:, :k] * s[:k]) @ Vt[:k]
        errors.append(np.linalg.norm(picture - approximation))
    kept = np.clip(np.rint(approximation), 0, 255).astype(np.uint8)
    energy = np.cumsum(s**2) / np.sum(s**2)
    return (
        np.array(errors),
        s,
        kept,
        int(np.searchsorted(energy, 0.99)) + 1,
        picture.dtype.name,
        picture.max(),
    )
