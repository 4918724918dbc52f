"""Ordinary and partial differential equations, and roots."""

from __future__ import annotations


def heat_equation(np, p=0.2):
    nx, nt = 20, 30
    u = np.zeros(nx)
    u[nx // 2 - 2 : nx // 2 + 2] = 1.0
    history = np.empty((nt, nx))
    for n in range(nt):
        history[n] = u
        u[1:-1] = u[1:-1] + p * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0], u[-1] = 0, u[-2]
    return u[5] + u[12], history[::10], u, u.argmax(), np.trapezoid(u, dx=0.1)


def wave_equation(np, p=0.8):
    x = np.linspace(0, 1, 25)
    u_old = np.exp(-100 * (x - 0.5) ** 2)
    u = u_old.copy()
    for _ in range(12):
        u_new = np.zeros_like(u)
        u_new[1:-1] = 2 * u[1:-1] - u_old[1:-1] + p**2 * np.diff(u, 2)
        u_old, u = u, u_new
    return np.sum(u**2 * x), u, np.abs(u).max(), np.flatnonzero(u > 0.2)


def laplace_equation(np, p=100.0):
    phi = np.zeros((8, 8))
    phi[0, :] = p
    phi[:, -1] = np.linspace(p, 0, 8)
    changes = []
    while len(changes) < 60:
        old = phi.copy()
        phi[1:-1, 1:-1] = (phi[:-2, 1:-1] + phi[2:, 1:-1] + phi[1:-1, :-2] + phi[1:-1, 2:]) / 4
        changes.append(np.max(np.abs(phi - old)))
        if changes[-1] < 1e-1:
            break
    gy, gx = np.gradient(phi)
    return phi[3, 3], phi, np.hypot(gx, gy).mean(axis=1), np.array(changes)


def runge_kutta(np, p=1.2):
    def f(t, y):
        return np.array([y[1], p * (1 - y[0] ** 2) * y[1] - y[0]])

    h, y, t = 0.1, np.array([2.0, 0.0]), 0.0
    path = [y]
    for _ in range(20):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
        path.append(y)
    path = np.array(path)
    return y[0] * y[1], path[:, 0], np.stack(path)[-3:], path.size, round(t, 3)


def epidemic(np, p=0.4):
    gamma, days, dt = 0.1, 40, 1
    healthy, sick, immune = np.zeros(days), np.zeros(days), np.zeros(days)
    healthy[0], sick[0] = 0.99, 0.01
    for t in range(days - 1):
        infections = p * healthy[t] * sick[t] * dt
        recoveries = gamma * sick[t] * dt
        healthy[t + 1] = healthy[t] - infections
        sick[t + 1] = sick[t] + infections - recoveries
        immune[t + 1] = immune[t] + recoveries
    assert np.allclose(healthy + sick + immune, 1.0)
    return (
        sick[25] + immune[-1],
        int(np.argmax(sick)),
        sick.max(),
        np.column_stack((healthy, sick, immune))[::13],
    )


def pendulum_leapfrog(np, p=0.6):
    theta, omega = p, 0.0
    dt = 0.05
    energies = []
    for step in range(30):
        omega -= 0.5 * dt * np.sin(theta)
        theta += dt * omega
        omega -= 0.5 * dt * np.sin(theta)
        if step % 10 == 0:
            energies.append(0.5 * omega**2 - np.cos(theta))
    spread = max(energies) - min(energies)
    return theta * omega, np.array(energies), bool(spread < 1e-3)


def newton_method(np, p=2.0):
    def F(v):
        x, y = v
        return np.array([x**2 + y**2 - p**2, np.exp(x) + y - 1])

    def J(v):
        x, y = v
        return np.array([[2 * x, 2 * y], [np.exp(x), 1.0]])

    v = np.array([1.0, -1.5])
    sizes = [1.0]
    while sizes[-1] > 1e-12:
        delta = np.linalg.solve(J(v), -F(v))
        v = v + delta
        sizes.append(float(np.linalg.norm(delta)))
    return v[0] - 2 * v[1], v, len(sizes), np.linalg.norm(F(v)) < 1e-10


def bisection(np):
    a, b = np.float64(0.0), np.float64(2.0)
    f = np.poly1d([1.0, 0.0, -2.0]) if np.__name__ == "numpy" else (lambda x: x**2 - 2)
    steps = 0
    while b - a > 1e-6:
        c = (a + b) / 2
        if f(a) * f(c) <= 0:
            b = c
        else:
            a = c
        steps += 1
    return float((a + b) / 2), steps


def finite_differences(np, p=1.5):
    x = np.linspace(0, 2 * np.pi, 41)
    h = x[1] - x[0]
    y = np.sin(p * x)
    first = (y[2:] - y[:-2]) / (2 * h)
    second = (y[2:] - 2 * y[1:-1] + y[:-2]) / h**2
    error = np.abs(first - p * np.cos(p * x[1:-1]))
    i = np.argmax(error)
    return (first * second).sum(), error.max(), x[1:-1][i], np.gradient(y, h)[::8], np.sign(second)[::5]
