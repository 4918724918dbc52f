"""``x[key] = value`` and ``iter(x)`` in machine code: what Python does, with the same gradients and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch
from jittape.recording.trace import current_trace
from test_native_recording import machine_code
from test_shape_arguments import python_of

__all__ = ["machine_code"]

WRITES = (
    "x[0] = 1.0", "x[-1] = s", "x[1:3] = 2", "x[:] = y", "x[...] = array", "x[::2] = 0.0", "x[count] = np.float32(2)",
    "x[[0, 3]] = 5.0", "x[picked] = y[:2]", "x[t] = 1.0", "a[:, 0] = 0.5", "a[0] = row", "a[0, 1] += s",
    "a[[0, 2], [1, 3]] = [1.0, 2.0]", "v[0] = 1.0", "v[1:3] = y[1:3]", "x[0] = True", "x[1:1] = 3.0", "x[None] = y",
    "x[x > 5.0] = 0.0", "x[0] = 1j", "x[12] = 1.0", "a[3, 0] = s", "x[1:3] = y", "a[0, :2] = (s, 2.0)",
    "x[0] = s; x[1] = x[0] * 2.0; x[0] += y[0]; y = x * x; x[2] = y[0]; y[0] = 1.0; y[1] = x[2]",
    "for i in range(5): a[i % 3, 1:] *= s; a[i % 3] = a[(i + 1) % 3]",
    "b = x * 2.0; b[0] = s; b[1] = b[0]; x[:2] = b[:2]; v[0] = b[0]; v[1] = v[0] * s",
)  # fmt: skip


def written(statement: str) -> Any:
    array = np.arange(12.0)
    names = {"x": jt.constant(array), "a": jt.constant(array.reshape(3, 4)), "v": jt.Variable(array)}
    names |= {
        "y": jt.constant(array + 1) * 2.0,
        "s": jt.constant(7.5),
        "array": array,
        "count": np.int64(3),
        "np": np,
    }
    names |= {"row": np.ones(4, np.float32), "picked": np.array([1, 4]), "t": jt.constant([2, 5])}
    sources = [names[name] for name in "xysav"]
    try:
        with np.errstate(all="ignore"), jt.GradientTape() as tape:
            tape.watch(sources[:4])
            exec(statement, names)
            total = sum(jt.reduce_sum(names[name] ** 2) for name in "xav")
        return [g.numpy().tolist() for g in tape.gradient(total, sources, unconnected_gradients="zero")]
    except (TypeError, ValueError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("statement", WRITES)
def test_machine_code_writes_as_python_does(statement: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jt.config, "interpret", True)  # only the recording is tested
    switch.use_python()
    wanted = written(statement)
    switch.use()
    for _ in range(3):
        assert written(statement) == wanted


def test_known_paths_of_writes_parse_no_keys():
    x, a, v, y = jt.constant(np.ones(4)), jt.constant(np.ones((2, 3))), jt.Variable(np.ones(4)), jt.ones([2])

    def write() -> None:
        x[0] = 1.0
        x[1:3] = y
        x[[0, 2]] = 3.0
        a[:, 0] = y
        a[1, 2] += 2.0
        v[-1] = 2

    assert not {"getitem", "setitem", "apply", "parsed"} & python_of(write)

    def write_to_new() -> None:
        made = x * 2.0
        for i in range(3):
            made[i] = 1.0

    assert not python_of(write_to_new)


def test_machine_code_refuses_writes_that_nobody_sees():
    t = jt.constant(np.ones((2, 2)))
    for _ in range(3):
        current_trace().step()
        row = t[0]
        row[1] = 5.0
        with pytest.raises(TypeError, match="no effect"):
            t[0][1] = 9.0
        with pytest.raises(TypeError, match="no effect"):
            jt.constant(np.ones(2))[0] = 9.0
        for part in t:
            with pytest.raises(TypeError, match=r"z\[i"):
                part[0] = 9.0
        assert row.tolist() == [1.0, 5.0]


def test_iteration_runs_no_python_and_completes_paths_of_single_rows():
    x, a, v = jt.constant(np.arange(4.0)), jt.constant(np.arange(6.0).reshape(3, 2)), jt.Variable([1.0, 2.0])
    for call in (lambda: [*x], lambda: list(a), lambda: [*v]):
        assert python_of(call) <= {"__len__", "aval"}
    for _ in range(3):
        for count in (1, 2, 4):
            current_trace().step()
            first = [x[i] for i in range(count)]
            assert [float(row) for row in (*first, *x)] == [*range(count), 0, 1, 2, 3]
        with jt.GradientTape() as tape:
            tape.watch(a)
            p, q, r = a
            total = jt.reduce_sum(p * q * r)
        assert tape.gradient(total, a).tolist() == [[8.0, 15.0], [0.0, 5.0], [0.0, 3.0]]
        assert [*jt.zeros([0, 3])] == []
        with pytest.raises(TypeError, match="0-d tensor"):
            iter(jt.constant(1.0))
