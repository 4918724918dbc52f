"""Initial value problems in complex numbers: SciPy's solutions, events, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import jittape as jt
from jittape.scipy import integrate

HAMILTONIAN = np.array([[1.0, 0.4j], [-0.4j, 2.0]])
START = np.array([1.0 + 0j, 0.5j])
TIMES = np.linspace(0.0, 2.0, 5)


def schroedinger(t: Any, y: Any) -> Any:
    return -1j * (HAMILTONIAN @ y)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "Rodas4"])
def test_values(method: str) -> None:
    def fun(t: Any, y: Any) -> Any:
        return -1j * jt.linalg.matvec(HAMILTONIAN, y)

    found = integrate.solve_ivp(fun, (0.0, 2.0), START, method, TIMES, rtol=1e-8, atol=1e-9)
    wanted = scipy.integrate.solve_ivp(
        schroedinger, (0.0, 2.0), START, "DOP853", TIMES, rtol=1e-11, atol=1e-12
    )
    assert found.y.dtype == jt.complex128
    np.testing.assert_allclose(found.y, wanted.y, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(found.y.numpy(), axis=0), np.linalg.norm(START), atol=2e-6)


def test_events_and_dense_output() -> None:
    def turned(t: Any, y: Any) -> Any:
        return jt.math.real(y[0])

    turned.terminal = True  # type: ignore[attr-defined]
    found = integrate.solve_ivp(
        lambda t, y: [1j * y[0]],
        (0.0, 9.0),
        [1 + 0j],
        rtol=1e-9,
        atol=[1e-10],
        events=turned,
        dense_output=True,
    )
    np.testing.assert_allclose(found.t_events[0], [np.pi / 2], atol=1e-7)
    np.testing.assert_allclose(found.y_events[0], [[1j]], atol=1e-7)
    np.testing.assert_allclose(found.sol(1.0), [np.exp(1j)], atol=1e-6)
    np.testing.assert_allclose(found.sol([0.5, 1.0]), [np.exp([0.5j, 1j])], atol=1e-6)
    assert found.status == 1


@pytest.mark.parametrize("options", [{}, {"adjoint": True}, {"method": "Radau"}])
def test_gradients(options: dict[str, Any]) -> None:
    def turning(t: Any, y: Any, rate: Any) -> Any:
        return jt.cast(rate, jt.complex128) * 1j * y

    def real_part(rate: Any) -> Any:
        given = {"t_eval": [1.0], "args": (rate,), "rtol": 1e-9, "atol": 1e-10, **options}
        end = integrate.solve_ivp(turning, (0.0, 1.0), [1.0 + 0j], **given)
        return jt.math.real(end.y[0, -1])

    for _ in range(3):
        np.testing.assert_allclose(jt.grad(real_part)(np.float64(0.7)), -np.sin(0.7), atol=1e-6)


def test_errors() -> None:
    with pytest.raises(jt.DTypeError, match="give solve_ivp a complex y0"):
        integrate.solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), [1.0])
    with pytest.raises(jt.DTypeError, match="an event must return a real number"):
        integrate.solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), [1j], events=lambda t, y: y[0])
    with pytest.raises(jt.ShapeError, match="the function must return the shape of y"):
        integrate.solve_ivp(lambda t, y: [y[0], y[0]], (0.0, 1.0), [1j])
    with pytest.raises(jt.ShapeError, match="y0 must have one dimension"):
        integrate.solve_ivp(lambda t, y: y, (0.0, 1.0), 1j)
    with pytest.raises(ValueError, match="use 'BDF', or 'RK45' if the system is not stiff"):
        integrate.solve_ivp(lambda t, y: y, (0.0, 1.0), [1j], "LSODA")
