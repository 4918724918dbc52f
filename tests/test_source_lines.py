"""The lines that messages name: those of the code that runs, in files and in the cells of notebooks."""

from __future__ import annotations

import inspect
import re
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.tracebacks import of_user
from jittape.recording.trace import current_trace
from jittape.recording.trie import trie
from jittape.runtime.counters import counters
from processes import run_python


def line_of(function: Callable[..., object], text: str) -> int:
    """The line of the source of `function` that has `text` in it."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def line_in(message: str) -> int:
    found = re.search(rf"line (\d+) of {re.escape(__file__)}|{re.escape(__file__)}:(\d+)", message)
    assert found is not None, message
    return int(found[1] or found[2])


OUTSIDE = jt.constant([0, 9])


def first_program(x: jt.Tensor) -> jt.Tensor:
    return jt.reduce_sum(jt.gather(x, OUTSIDE + 0))


def second_program(x: jt.Tensor) -> jt.Tensor:
    # The same ops, a line further down.
    return jt.reduce_sum(jt.gather(x, OUTSIDE + 0))


def stopped_here(x: jt.Tensor) -> jt.Tensor:
    return jt.reduce_sum(jt.floor(x))


def stopped_there(x: jt.Tensor) -> jt.Tensor:
    y = jt.floor(x)
    return jt.reduce_sum(y)


@pytest.mark.parametrize("visits", [1, 3])
def test_an_error_names_the_program_that_ran(visits: int):
    x = jt.Variable([1.0, 2.0, 3.0])

    def helper(program: Callable[[jt.Tensor], jt.Tensor]) -> jt.Tensor:
        with jt.GradientTape():
            return program(x)

    for program in (first_program, second_program) * visits:
        with pytest.raises(IndexError) as info:
            helper(program).numpy()
        assert f"test_source_lines.py:{line_of(program, 'gather')}" in info.value.__notes__[0]


def test_a_missing_gradient_names_the_function_that_ran():
    for transform in (jt.grad, jt.value_and_grad, jt.jacobian):
        for program in (stopped_here, stopped_there, stopped_here):
            with pytest.warns(jt.UnconnectedGradientWarning) as caught:
                transform(program)(np.ones(3))
            assert line_in(str(caught[0].message)) == line_of(program, "floor")


def run_cell(text: str, file: str) -> dict[str, Any]:
    names: dict[str, Any] = {"jt": jt, "x": jt.Variable([1.5])}
    exec(compile(text, file, "exec"), names)
    return names


CELL = """
with jt.GradientTape() as tape:
    y = jt.floor(x * 3.0)
tape.gradient(y, x, unconnected_gradients="zero")
y.numpy()
"""


def test_a_cell_that_is_run_again_finds_its_paths_and_an_edited_one_names_its_own_line():
    run_cell(CELL, "<cell 1>")
    before, nodes = counters.paths_recorded, trie.n_nodes
    names = run_cell(CELL, "<cell 1>")
    assert (counters.paths_recorded, trie.n_nodes) == (before, nodes)
    assert "line 3 of <cell 1>" in names["tape"].explain(names["y"], names["x"])
    names = run_cell("\n\n" + CELL, "<cell 1>")
    assert "line 5 of <cell 1>" in names["tape"].explain(names["y"], names["x"])


def test_places_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    """Code that is made anew each time has a root each time; a trie that is full drops those without paths."""
    trie.clear()
    monkeypatch.setattr(jt.config, "_max_trie_nodes", 50)
    for i in range(200):
        run_cell("\n" * i + CELL, "<cells>")
    assert len(trie._roots) < 60


def test_cells_of_a_notebook_go_by_their_number(monkeypatch: pytest.MonkeyPatch):
    cells = {"/tmp/ipykernel_1/123.py": ("Cell", "In[7]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    names = run_cell(CELL, "/tmp/ipykernel_1/123.py")
    assert "at line 3 of cell In[7]," in names["tape"].explain(names["y"], names["x"])
    with pytest.warns(jt.UnconnectedGradientWarning) as caught:  # no cell
        jt.grad(stopped_here)(np.ones(3))
    assert line_in(str(caught[0].message)) == line_of(stopped_here, "floor")


# ---- explanations --------------------------------------------------------------------------------------------------


def test_an_ordinary_tape_explains_after_its_gradient():
    x, c, unused = jt.Variable([1.5]), jt.constant([1.0]), jt.constant([1.0])
    with jt.GradientTape() as tape:
        tape.watch(c)
        y = jt.floor(x) * 2.0 + c
    with pytest.warns(jt.UnconnectedGradientWarning) as caught:
        tape.gradient(y, [x, c])
    explanation = tape.explain(y, x)
    assert str(caught[0].message).endswith(f"{explanation}; see tape.explain(target, source)")
    assert tape.explain(y, c) == (
        "the target depends on source 0 (float32[1]) through 1 recorded op; jt.check_gradient(f, x) compares a "
        "gradient with differences"
    )
    assert "was not used in anything" in tape.explain(y, unused)
    y.numpy()
    assert "`floor`" in tape.explain(y, x)
    (y + 1.0).numpy()
    (y + c).numpy()
    assert "has become part of a later step" in tape.explain(y, x)


def test_a_tape_that_is_entered_again_explains_what_it_records_then():
    x = jt.Variable(2.0)
    with jt.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with tape:
        z = jt.floor(x)
    assert "`floor`" in tape.explain(z, x)


def explanation_of(step: Callable[[], None]) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step()
    return str(caught[-1].message) if caught else ""


def a_name_that_is_bound_anew() -> None:
    w = jt.Variable([1.0, 2.0])
    for _ in range(2):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w * w)
        g = tape.gradient(loss, w)
        if g is not None:
            w = w - 0.1 * g  # here


def a_list_of_new_tensors() -> None:
    ws = [jt.Variable([1.0, 2.0])]
    for _ in range(2):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(ws[0] * ws[0])
        gradients = tape.gradient(loss, ws)
        if gradients[0] is not None:
            ws = [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)]  # here


def an_entry_that_is_replaced() -> None:
    ws = {"a": jt.Variable([1.0, 2.0])}
    for _ in range(2):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(ws["a"] * ws["a"])
        g = tape.gradient(loss, ws)["a"]
        if g is not None:
            ws["a"] = ws["a"] - 0.1 * g  # here


def a_variable_that_is_updated() -> None:
    w = jt.Variable([1.0, 2.0])
    for _ in range(3):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w * w)
        w.assign_sub(0.1 * tape.gradient(loss, w))


@pytest.mark.parametrize(
    "step", [a_name_that_is_bound_anew, a_list_of_new_tensors, an_entry_that_is_replaced]
)
def test_a_tensor_that_has_taken_a_variables_name(step: Callable[[], None]):
    text = explanation_of(step)
    statement, name, kind = re.search(
        r"; line (\d+) of .*, `.*`, gives the name '(\w+)' to a new (\w+)", text
    ).groups()
    assert (int(statement), kind) == (line_of(step, "# here"), "tensor")
    assert name in ("w", "ws")


def test_a_variable_that_is_updated_needs_no_explanation():
    assert explanation_of(a_variable_that_is_updated) == ""


# ---- tracebacks ----------------------------------------------------------------------------------------------------

SCRIPT = """
import jittape as jt
import numpy as np


def call(x):
    return {call}


call(jt.ones((2, 2)))
"""


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("jt.matmul(x, jt.ones((3, 3)))", "ShapeError"),
        ("x @ jt.ones((3, 3))", "ShapeError"),
        ("np.reshape(x, (3, 3))", "ShapeError"),
        ("jt.gather(x, jt.constant([5]) + 0).numpy()", "IndexError"),
        ("jt.grad(lambda x: 1 / 0)(1.0)", "ZeroDivisionError"),
    ],
)
def test_a_traceback_ends_on_the_users_line(call: str, error: str, tmp_path: Path):
    for full in (False, True):
        script = tmp_path / "script.py"
        setting = "jt.config.full_tracebacks = True\n\n" if full else "\n\n"
        script.write_text(SCRIPT.format(call=call).replace("\n\n\ndef", f"\n{setting}\ndef"))
        text = run_python(str(script)).stderr
        assert error in text
        files = re.findall(r'  File "(.*?)"', text)
        own = [file for file in files if "jittape" in Path(file).parts]
        assert bool(own) == full
        assert ("full_tracebacks" in text) == (not full)
        assert files[-1] == str(script) or full


def test_the_users_frames_stay_in_their_order():
    def callback(x: jt.Tensor) -> jt.Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError) as info:
        jt.grad(callback)(1.0)
    kept, names = of_user(info.value.__traceback__), []
    while kept is not None:
        names.append(kept.tb_frame.f_code.co_name)
        kept = kept.tb_next
    assert names == ["test_the_users_frames_stay_in_their_order", "callback"]
    assert of_user(None) is None


def test_one_instruction_may_call_several_functions() -> None:
    x = jt.constant(np.ones(3))
    functions = (np.exp, np.sin, np.exp, jt.nn.relu, np.cumsum, np.sin)
    called = []
    for function in functions:
        node = (function(x), current_trace().node)[1]
        called.append(node.source.called)
    assert called == ["np.exp", "np.sin", "np.exp", "relu", "np.cumsum", "np.sin"]
