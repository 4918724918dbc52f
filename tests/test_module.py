"""`Module`, `Dense` and `Sequential`."""

from __future__ import annotations

import copy
import pickle
import threading
from collections import namedtuple

import numpy as np
import pytest

import jittape as jt


class Line(jt.Module):
    """At module level, so that it can be pickled."""

    def __init__(self, name=None):
        super().__init__(name)
        self.m = jt.Variable(2.0, name="m")
        self.b = jt.Variable(1.0, name="b")

    def __call__(self, x):
        return self.m * x + self.b


Pair = namedtuple("Pair", "first second")


def names(variables):
    return [v.name for v in variables]


# ---- Module ----------------------------------------------------------------------------------------------------------


def test_variables_in_the_order_of_tensorflow():
    module = jt.Module()
    module.z = jt.Variable(1.0, name="z")
    module.parts = [jt.Variable(1.0, name="in list"), (jt.Variable(1.0, name="in tuple"),)]
    module.table = {
        "key": jt.Variable(1.0, name="in dict"),
        "deeper": {"key": [jt.Variable(1.0, name="deeper")]},
    }
    module.pair = Pair(jt.Variable(1.0, name="in namedtuple"), 3)
    module.other = Line()
    module.frozen = jt.Variable(1.0, trainable=False, name="frozen")
    module.number, module.text, module.nothing, module.array = 3, "text", None, np.ones(2)
    trainable = ["in namedtuple", "in list", "in tuple", "deeper", "in dict", "z", "b", "m"]
    assert names(module.variables) == [f"{n}:0" for n in ("frozen", *trainable)]
    assert names(module.trainable_variables) == [f"{n}:0" for n in trainable]
    assert names(module.non_trainable_variables) == ["frozen:0"]


def test_what_is_shared_comes_up_once():
    module, line = jt.Module(), Line()
    module.one, module.other, module.lines = line, line, [line, line]
    module.m = line.m
    module.same = module.lines
    assert names(module.variables) == ["m:0", "b:0"]
    assert module.submodules == (line,)


def test_cycles():
    module, line = jt.Module(), Line()
    module.child, line.parent = line, module
    module.loop = [module]
    module.loop.append(module.loop)
    assert names(module.variables) == ["b:0", "m:0"]
    assert line.submodules == (module,)


def test_a_chain_of_thousands():
    first = last = jt.Module()
    for _ in range(3000):
        last.next = Line()
        last = last.next
    assert len(first.variables) == 6000


def test_names():
    assert Line().name == "line"
    assert Line("mine").name == "mine"
    assert repr(Line("mine")) == "<Line 'mine': 2 variables, 2 trainable numbers>"
    with pytest.raises(AttributeError):
        Line().name = "other"


def test_a_subclass_that_does_not_call_our_constructor():
    class Forgetful(jt.Module):
        def __init__(self):
            self.w = jt.Variable([1.0, 2.0], name="w")

    module = Forgetful()
    assert module.name == "forgetful"
    assert names(module.variables) == ["w:0"]
    assert repr(module) == "<Forgetful 'forgetful': 1 variables, 2 trainable numbers>"


@pytest.mark.parametrize(
    ("of_class", "name"),
    [
        ("HTTPServer", "http_server"),
        ("ABc", "a_bc"),
        ("my_thing", "my_thing"),
        ("A1B2", "a1_b2"),
        ("MyDense2DLayer", "my_dense2_d_layer"),
        ("_Private", "__private"),
        ("Foo_Bar", "foo__bar"),
        ("aB", "a_b"),
    ],
)
def test_names_of_classes_are_tensorflows(of_class, name):
    assert type(of_class, (jt.Module,), {})().name == name


@pytest.mark.parametrize("name", ["has space", "a/b", "1a", "", 3])
def test_a_name_is_an_identifier(name):
    with pytest.raises(ValueError, match="is not a valid module name"):
        jt.Module(name)


def test_any_text_is_the_name_of_a_layer():
    assert jt.nn.Dense(1, name="first layer/1").name == "first layer/1"


# ---- name scopes: the names are those of TensorFlow 2.21 -------------------------------------------------------------


class Block(jt.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.w = jt.Variable(1.0, name="w")

    @jt.Module.with_name_scope
    def __call__(self, x):
        """Multiply."""
        if not hasattr(self, "b"):
            self.b = jt.Variable(2.0, name="b")
        return self.w * x + self.b


class Outer(jt.Module):
    def __init__(self):
        super().__init__()
        with self.name_scope:
            self.block, self.v = Block(), jt.Variable(1.0, name="v")
            self.parts = [Block("x"), {"k": Block("y")}, (Block("z"),)]

    @jt.Module.with_name_scope
    def __call__(self, x):
        return self.block(x)


def test_variables_of_a_module_are_named_after_its_scopes():
    outer = Outer()
    assert float(outer(3.0)) == 5.0
    assert [outer.block.w.name, outer.v.name, outer.block.b.name] == [
        "outer/w:0",
        "outer/v:0",
        "outer/block/b:0",
    ]
    assert outer.block.name_scope.name == "outer/block/"
    assert [part.name for part in outer.submodules] == ["block", "x", "y", "z"]
    assert (Block.__call__.__name__, Block.__call__.__doc__) == ("__call__", "Multiply.")


def test_a_scope_of_a_module_without_our_constructor():
    class Forgetful(jt.Module):
        def __init__(self):
            pass

    assert Forgetful().name_scope.name == "forgetful/"


def test_name_scopes():
    with jt.name_scope("foo") as outer:
        with jt.name_scope("bar") as inner:
            assert (outer, inner, jt.get_current_name_scope()) == ("foo/", "foo/bar/", "foo/bar")
            assert jt.Variable(1.0, name="q").name == "foo/bar/q:0"
            with jt.name_scope("") as none, jt.name_scope("x/y/") as absolute:
                assert (none, absolute, jt.Variable(1.0).name) == ("", "x/y/", "x/y/Variable:0")
        assert jt.get_current_name_scope() == "foo"
    assert jt.get_current_name_scope() == ""
    for name in (3, None):
        with pytest.raises(ValueError, match="name for name_scope must be a string"):
            jt.name_scope(name)


def test_a_scope_may_be_entered_again_and_ends_with_an_error():
    scope = jt.name_scope("a")
    with pytest.raises(ZeroDivisionError), scope, scope:
        assert jt.get_current_name_scope() == "a/a"
        raise ZeroDivisionError
    assert jt.get_current_name_scope() == ""


def test_a_scope_belongs_to_its_thread():
    found = []
    with jt.name_scope("a"):
        thread = threading.Thread(target=lambda: found.append(jt.get_current_name_scope()))
        thread.start()
        thread.join()
    assert found == [""]


def test_a_variable_made_in_a_compiled_function_has_the_name_of_its_scope():
    block = Block()
    call = jt.function(block)
    assert [float(call(jt.constant(x))) for x in (1.0, 2.0)] == [3.0, 4.0]
    assert block.b.name == "block/b:0"


def test_gradients_in_the_order_of_the_variables():
    line = Line()
    with jt.GradientTape() as tape:
        y = line(3.0)
    assert [float(g) for g in tape.gradient(y, line.trainable_variables)] == [1.0, 3.0]


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(copier):
    net = jt.nn.Sequential([jt.nn.Dense(3, "relu"), Line(), jt.nn.Dense(1, jt.nn.tanh)])
    x = jt.ones([2, 4])
    wanted = net(x).tolist()
    copied = copier(net)
    for variable in net.variables:
        variable.assign(variable * 0.0)
    assert copied(x).tolist() == wanted
    assert names(copied.variables) == names(net.variables)
    assert not {v.ref() for v in copied.variables} & {v.ref() for v in net.variables}


# ---- Dense -----------------------------------------------------------------------------------------------------------


def test_dense(mode):
    for _ in range(3):
        layer = jt.nn.Dense(3, activation="tanh", name="hidden")
        assert layer.variables == []
        x = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
        y = layer(x)
        assert names(layer.variables) == ["kernel", "bias"]
        assert layer.kernel.shape == (4, 3)
        layer.bias.assign([1.0, 2.0, 3.0])
        np.testing.assert_allclose(y.numpy(), np.tanh(x @ layer.kernel.numpy()), rtol=1e-5)
        np.testing.assert_allclose(layer(x).numpy(), np.tanh(x @ layer.kernel.numpy() + [1, 2, 3]), rtol=1e-5)


def test_dense_begins_as_glorot_says():
    jt.random.set_seed(0)
    layer = jt.nn.Dense(300, input_dim=200)
    kernel = layer.kernel.numpy()
    limit = np.sqrt(6 / 500)
    assert np.abs(kernel).max() <= limit
    assert kernel.std() == pytest.approx(limit / np.sqrt(3), rel=0.02)
    assert layer.bias.tolist() == [0.0] * 300


def test_dense_options():
    layer = jt.nn.Dense(2, use_bias=False, dtype="float64", input_dim=3)
    assert names(layer.variables) == ["kernel"]
    assert layer(np.ones((1, 3))).dtype == jt.float64
    assert layer(np.ones((4, 5, 3))).shape == (4, 5, 2)
    assert layer(np.ones(3)).shape == (2,)
    assert layer(jt.Variable(np.ones((2, 3))), training=True).shape == (2, 2)
    doubled = jt.nn.Dense(2, activation=lambda x: 2 * x, input_dim=3)
    doubled.kernel.assign(np.ones((3, 2)))
    assert doubled([[1.0, 1.0, 1.0]]).tolist() == [[6.0, 6.0]]


@pytest.mark.parametrize(
    "name", [None, "linear", "relu", "sigmoid", "softmax", "elu", "gelu", "selu", "silu", "softplus"]
)
def test_activations_by_name(name):
    layer = jt.nn.Dense(3, activation=name, input_dim=3, use_bias=False)
    layer.kernel.assign(np.eye(3))
    x = jt.constant([[-1.0, 0.5, 2.0]])
    wanted = x if name in (None, "linear") else getattr(jt.nn, name)(x)
    np.testing.assert_array_equal(layer(x).numpy(), wanted.numpy())


def test_dense_mistakes():
    with pytest.raises(ValueError, match="units must be positive, got 0"):
        jt.nn.Dense(0)
    with pytest.raises(ValueError, match="Unknown activation 'rleu'; known are elu, .*relu"):
        jt.nn.Dense(1, activation="rleu")
    layer = jt.nn.Dense(2, input_dim=3, name="mine")
    for x in (np.ones((2, 4)), np.float32(1.0)):
        with pytest.raises(ValueError, match="layer 'mine' takes inputs with last dimension 3"):
            layer(x)
    with pytest.raises(ValueError, match="needs an input with at least one dimension"):
        jt.nn.Dense(2)(jt.constant(1.0))


def test_building_in_a_tape_runs_nothing():
    x = jt.ones([2, 3])
    x.numpy()
    layer = jt.nn.Dense(4)
    with jt.GradientTape() as tape:
        before = jt.stats().flushes
        y = jt.reduce_sum(layer(x))
        assert jt.stats().flushes == before
    kernel, bias = tape.gradient(y, layer.trainable_variables)
    assert kernel.tolist() == [[2.0] * 4] * 3
    assert bias.tolist() == [2.0] * 4


# ---- Sequential ------------------------------------------------------------------------------------------------------


def test_sequential():
    net = jt.nn.Sequential([jt.nn.Dense(8, "tanh")], name="net")
    net.add(lambda x: x * 2.0)
    net.add(jt.nn.Dense(1))
    y = net(np.ones((5, 3), np.float32), training=True)
    assert y.shape == (5, 1)
    first, last = net.layers[0], net.layers[2]
    assert names(net.trainable_variables) == names([first.kernel, first.bias, last.kernel, last.bias])
    wanted = 2.0 * np.tanh(np.ones((5, 3)) @ first.kernel.numpy()) @ last.kernel.numpy()
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-4, atol=1e-5)
    assert net.submodules == (first, last)


def test_sequential_passes_training_on():
    seen = []

    class Noted(jt.Module):
        def __call__(self, x, training=None):
            seen.append(training)
            return x

    net = jt.nn.Sequential([Noted(), jt.nn.Sequential([Noted()])])
    net(jt.constant(1.0), training=True)
    net(jt.constant(1.0))
    assert seen == [True, True, None, None]


def test_an_empty_sequential():
    assert jt.nn.Sequential()([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_a_network_is_trained(mode):
    jt.random.set_seed(1)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (64, 2)).astype("float32")
    y = (x[:, :1] * x[:, 1:]).astype("float32")
    net = jt.nn.Sequential([jt.nn.Dense(16, "tanh"), jt.nn.Dense(1)])
    optimizer = jt.optimizers.Adam(0.02)
    losses = []
    for _ in range(150):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(net(x) - y))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        losses.append(loss)
    assert float(losses[-1]) < 0.1 * float(losses[0])
