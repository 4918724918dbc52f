"""Pictures of programs: what they show, and that they run nothing."""

import xml.etree.ElementTree as ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jittape as jt
from jittape.plot.memory_use import bytes_of_steps
from jittape.plot.node_layout import rows_of
from jittape.plot.roofline_chart import intensities
from jittape.plot.scheduled_step import schedule_of

matplotlib.use("agg")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def weights():
    return jt.Variable(np.linspace(0.1, 1.0, 48).reshape(3, 16))


def training_step(weights):
    def step(x):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(jt.tanh(x @ weights)))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    return step


def texts(picture):
    return [element.text for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]


def test_every_step_is_a_box_and_stored_values_show_their_bytes(weights):
    picture = jt.plot.graph(training_step(weights), jt.ones([100, 3], "float64"))
    schedule = schedule_of("graph", training_step(weights), (jt.ones([100, 3], "float64"),))
    found = texts(picture)
    assert [text.split(".")[0] for text in found if ". " in text] == [
        str(i + 1) for i in range(len(schedule.steps))
    ]
    assert {"matmul", "tanh", "square", "input 0"} <= set(found)
    assert "float64[100,16], 12.8 kB" in found  # the product, which the gradient reads again
    assert "literal" not in found
    assert "broadcast_to" not in found


def test_a_function_is_drawn_and_not_run(weights):
    before = weights.numpy()
    jt.plot.graph(training_step(weights), jt.ones([100, 3], "float64"))
    jt.plot.memory(training_step(weights), jt.ones([100, 3], "float64"))
    plt.close("all")
    assert np.array_equal(weights.numpy(), before)


def test_the_last_step_is_drawn(weights):
    step = training_step(weights)
    for _ in range(3):
        float(step(jt.ones([100, 3], "float64")))
    assert "tanh" in texts(jt.plot.graph())


def test_long_steps_are_one_node():
    def f(x):
        for _ in range(100):
            x = jt.sin(x) + 1.0
        return x

    found = texts(jt.plot.graph(f, jt.ones([1000])))
    assert any(text and text.startswith("200 ops: sin, add") for text in found)


def test_loops_and_numpy_steps_are_drawn():
    def f(x):
        total = jt.fori_loop(0, 5, lambda i, a: a * 0.5 + x, x)
        return jt.reduce_sum(jt.signal.dct(total))

    found = texts(jt.plot.graph(f, jt.ones([9])))
    assert any("loop or branch" in text for text in found)
    assert any(". NumPy" in text for text in found)


def test_a_picture_is_saved_and_shown(tmp_path):
    picture = jt.plot.graph(lambda x: x * 2.0, jt.ones([3]))
    picture.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text() == picture.svg == picture._repr_svg_()
    assert len(repr(picture)) < 100


def test_arrows_point_downwards():
    parents = {"c": "ab", "d": "c", "e": "ad"}
    rows = rows_of("abcde", parents)
    depth = {node: i for i, row in enumerate(rows) for node in row}
    assert sorted(node for row in rows for node in row) == list("abcde")
    assert all(depth[p] < depth[node] for node, above in parents.items() for p in above)


def test_the_memory_of_a_step_is_that_of_the_schedule(weights):
    schedule = schedule_of("memory", training_step(weights), (jt.ones([100, 3], "float64"),))
    parts = bytes_of_steps(schedule)
    assert parts["inputs"][0] == sum(aval.nbytes for aval in schedule.program.input_avals())
    assert parts["results"][-1] == sum(aval.nbytes for aval in schedule.results)
    assert 12_800 <= parts["temporaries"].max() <= schedule.arena
    axes = jt.plot.memory(training_step(weights), jt.ones([100, 3], "float64"))
    assert "test_plot.py" in axes.get_title()
    assert len(axes.patches) == 3 * len(schedule.steps)
    plt.close("all")


def test_the_pattern_of_a_jacobian():
    axes = plt.subplots()[1]
    assert jt.plot.jacobian(lambda x: x[1:] * x[:-1], np.arange(1.0, 6.0), ax=axes) is axes
    assert axes.get_title() == "8 of 20 elements are not zero (40.0 %)"
    plt.close("all")


def test_lines_lie_at_their_operations_per_byte():
    x = jt.Variable(np.ones(100_000))
    with jt.profile() as p:
        for _ in range(4):
            with jt.GradientTape() as tape:
                y = jt.reduce_sum(x * x)
            tape.gradient(y, x).numpy()
    points = intensities(p)
    assert points
    axes = jt.plot.roofline(p)
    assert [text.get_text() for text in axes.texts] == [name for name, _, _ in points]
    for name, x, y in points:
        line = next(line for line in p.lines if name == f"test_plot.py:{line.line}")
        assert y == pytest.approx(x * line.bandwidth)
    plt.close("all")


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(TypeError, match=r"\[plot.roofline\] the argument must be a jt.profile, not function"):
        jt.plot.roofline(jt.profile)
    with pytest.raises(
        TypeError, match=r"\[plot.graph\] the first argument must be a function or None, not Tensor"
    ):
        jt.plot.graph(jt.ones([3]))
    with (
        pytest.warns(jt.FunctionWarning),
        pytest.raises(ValueError, match=r"\[plot.memory\] .* looks at values"),
    ):
        jt.plot.memory(lambda x: x if float(x) > 0 else -x, jt.constant(1.0))
    with pytest.raises(ValueError, match=r"\[plot.jacobian\] the Jacobian has no elements"):
        jt.plot.jacobian(lambda x: x[:0], np.ones(3))


@pytest.mark.filterwarnings("ignore:the gradient is None")
def test_what_cannot_be_drawn_or_written_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\[plot.jacobian\] the result of f does not depend on x"):
        jt.plot.jacobian(lambda x: 5.0, np.ones(3))
    with pytest.raises(ValueError, match=r"must end in \.svg"):
        jt.plot.graph(lambda x: x * 2.0, np.ones(3)).save(tmp_path / "graph.png")
