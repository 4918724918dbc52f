"""Short descriptions of objects in a terminal, and tables of them in a notebook."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import jittape as jt


def cells(thing):
    """Return the caption and the rows of the table that a notebook shows."""
    table = ElementTree.fromstring(thing._repr_html_())
    return table.find("caption").text, [[cell.text for cell in row] for row in table.iter("tr")]


def test_tensors_and_variables():
    assert cells(jt.constant([[1.0, np.nan], [3.0, np.inf]])) == (
        "Tensor",
        [
            ["shape", "(2, 2)"],
            ["dtype", "float32"],
            ["size", "4 elements, 16 bytes"],
            ["range", "1 to 3; 2 not finite"],
            ["values", "[[ 1. nan]\n [ 3. inf]]"],
        ],
    )
    caption, rows = cells(jt.Variable(np.zeros((3, 0)), name="w<1>", trainable=False))
    assert caption == "Variable 'w<1>:0', not trainable"
    assert ["size", "0 elements, 0 bytes"] in rows
    assert len(dict(cells(jt.ones([1000, 1000]))[1])["values"]) < 300


def test_tensors_inside_a_traced_function():
    found = []
    w = jt.Variable(1.0, name="w")

    @jt.function
    def f(x):
        y = x * w
        found.append((cells(y)[1], cells(w)[0]))
        return y

    f(jt.ones([3]))
    rows, caption = found[0]
    assert ["value", f"<traced in {f.__qualname__}>"] in rows
    assert caption == "<jt.Variable 'w:0' shape=() dtype=float32>"


def test_modules():
    model = jt.nn.Sequential([jt.nn.Dense(16), jt.nn.Dense(2)])
    model(jt.ones([4, 3]))
    caption, rows = cells(model)
    assert caption == "Sequential 'sequential': 4 variables, 98 trainable numbers"
    assert rows[1:3] == [
        ["layers.0.kernel", "float32[3, 16]", "48", "True"],
        ["layers.0.bias", "float32[16]", "16", "True"],
    ]


def test_optimizers():
    optimizer = jt.optimizers.Adam(0.5, clipnorm=2.0)
    w = jt.Variable([1.0, 2.0])
    optimizer.apply_gradients([(jt.ones([2]), w)])
    text = repr(optimizer)
    assert text == "<Adam: learning_rate=0.5, clipnorm=2.0, beta_1=0.9, beta_2=0.999, epsilon=1e-07, 1 steps>"
    caption, rows = cells(optimizer)
    assert caption == "Adam"
    assert ["learning_rate", "0.5"] in rows
    assert ["steps", "1"] in rows
    with_a_function = jt.optimizers.SGD(lambda: 0.1)
    assert repr(with_a_function).startswith("<SGD: learning_rate=<function")


def test_tapes():
    x = jt.Variable([1.0, 2.0], name="x")
    tape = jt.GradientTape()
    assert repr(tape) == "<jt.GradientTape: state not recording>"
    with jt.GradientTape(persistent=True) as tape:
        y = x * x
        assert repr(tape).startswith("<jt.GradientTape: state recording, persistent; watches 'x:0'; recorded")
        with tape.stop_recording():
            z = jt.sin(y)
        before = dict(cells(tape)[1])["recorded"]
        z = jt.cos(z)
    after = dict(cells(tape)[1])
    assert after["state"] == "not recording, persistent"
    assert int(after["recorded"].split()[0]) == int(before.split()[0]) + 1
    with jt.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    assert repr(tape) == "<jt.GradientTape: state used up>"


@pytest.mark.filterwarnings("ignore::jittape.TapeExitWarning")
def test_a_tape_shows_what_left_it():
    x = jt.Variable(2.0)
    with jt.GradientTape() as tape:
        y = x * x
        float(y)
    assert any("float" in text and __file__ in text for name, text in cells(tape)[1] if name == "left by")


def test_functions():
    @jt.function
    def double(x):
        return x + x

    double(jt.ones([3]))
    caption, rows = cells(double)
    assert caption == f"<jt.function {double.__qualname__}>"
    assert rows[0] == ["arguments", "traced because", "state", "kernels", "time of the kernels"]
    assert rows[1][:2] == ["x: float32[3]", "it is the first call"]
    if jt.config.interpret:
        assert rows[1][2] == "compiled at the first run"
        return
    assert rows[1][2].startswith("compiled in ")
    assert rows[1][3:] == ["1. add", "jt.profile() measures it"]
    with jt.profile():
        double(jt.ones([3]))
    assert cells(double)[1][1][4].endswith(" µs per call (last profile)")


def test_settings():
    lines = repr(jt.config).splitlines()
    assert "default_float = 'float32'" in lines
    assert cells(jt.config)[1] == [line.replace("'", "").split(" = ") for line in lines]
