"""Pickles and copies: what comes back is what was put in, also in another process."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import sys
import types

import cloudpickle
import numpy as np
import pytest

import jittape as jt
from jittape.functions.function_pickling import Undecorated, loaded
from processes import SOURCE, run_python

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def pickled(protocol):
    return lambda x: pickle.loads(pickle.dumps(x, protocol))


def without_c(x):
    """By the pickler that is written in Python, which differs in places."""
    return pickle._loads(pickle._dumps(x))


copiers = pytest.mark.parametrize(
    "copier",
    [copy.deepcopy, *map(pickled, PROTOCOLS), without_c],
    ids=["deepcopy", *map(str, PROTOCOLS), "python"],
)


# ---- Variables and tensors -------------------------------------------------------------------------------------------


@copiers
@pytest.mark.parametrize("value", [1.5, [1.0, 2.0], [[1, 2], [3, 4]], True, [], 1 + 2j, np.ones((2, 0, 3))])
def test_variables(copier, value):
    v = jt.Variable(value, trainable=False, name="w", constraint=np.abs)
    other = copier(v)
    assert type(other) is jt.Variable
    assert (other.name, other.trainable, other.constraint) == (v.name, False, np.abs)
    assert (other.dtype, other.shape) == (v.dtype, v.shape)
    np.testing.assert_array_equal(other.numpy(), v.numpy())
    v.assign(v + v)
    np.testing.assert_array_equal(other.numpy(), np.asarray(value))


@copiers
def test_a_name_is_kept_as_it_is(copier):
    v = jt.Variable(1.0)
    v.name = "mine: all"
    assert copier(v).name == "mine: all"


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, *map(pickled, PROTOCOLS)])
def test_what_is_pending_is_computed_first(copier):
    v = jt.Variable([1.0, 2.0])
    v.assign_add([1.0, 1.0])
    t = v * 2.0
    other_t, other_v = copier(t), copier(v)
    v.assign([0.0, 0.0])
    assert (other_t.tolist(), other_v.tolist()) == ([4.0, 6.0], [2.0, 3.0])
    other_v.assign_add([1.0, 1.0])
    other_t[0] = 9.0
    assert (t.tolist(), v.tolist()) == ([4.0, 6.0], [0.0, 0.0])


@copiers
def test_tensors_inside_a_tape(copier):
    v = jt.Variable([1.0, 2.0])
    with jt.GradientTape() as tape:
        y = v * v
        copied = copier(y)
        total = jt.reduce_sum(y)
    assert copied.tolist() == [1.0, 4.0]
    assert tape.gradient(total, v).tolist() == [2.0, 4.0]


@copiers
def test_what_is_shared_stays_shared(copier):
    v, t = jt.Variable([1.0]), jt.constant([1.0]) * 2.0
    one, others, table, (t1, t2) = copier((v, [v, v], {"v": v}, (t, t)))
    assert one is others[0] is others[1] is table["v"]
    assert t1 is t2
    one.assign([5.0])
    assert v.tolist() == [1.0]


def test_memory_that_a_pickle_only_lends_is_copied():
    v, t = jt.Variable(np.arange(4.0)), jt.constant(np.arange(4.0))
    buffers = []
    data = pickle.dumps((v, t), 5, buffer_callback=buffers.append)
    assert len(buffers) == 2
    assert all(memoryview(b).readonly for b in buffers)  # nobody may write to the values through them
    lent = [bytearray(b) for b in buffers]
    copies = pickle.loads(data, buffers=lent)
    for memory in lent:
        memory[:] = bytes(len(memory))
    for one in copies:
        assert one.tolist() == [0.0, 1.0, 2.0, 3.0]
    lent = [bytes(b) for b in buffers]
    for one, memory in zip(pickle.loads(data, buffers=lent), lent, strict=True):
        assert not np.shares_memory(one.numpy(), np.frombuffer(memory))


def test_a_pickle_from_a_machine_of_another_byte_order():
    makers = [x.__reduce__()[0] for x in (jt.constant([1.0]), jt.Variable([1.0]))]
    array = np.array([1.0, 2.0], ">f8")
    for one in (makers[0](array), makers[1](array, True, "v:0", None)):
        assert one.dtype == jt.float64
        assert (one + one).tolist() == [2.0, 4.0]


def test_a_constraint_is_copied_with_what_it_refers_to():
    class Limit:
        def __init__(self, bound):
            self.bound = bound

        def __call__(self, value):
            return jt.minimum(value, self.bound)

    bound = jt.Variable(2.0)
    other, other_bound = copy.deepcopy((jt.Variable(1.0, constraint=Limit(bound)), bound))
    assert other.constraint.bound is other_bound


# ---- tapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, *map(pickled, PROTOCOLS)])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_tape_refuses(copier, persistent):
    v = jt.Variable(3.0)
    holder = types.SimpleNamespace()
    with jt.GradientTape(persistent=persistent) as holder.tape:
        y = v * v
        with pytest.raises(TypeError, match="GradientTape cannot be pickled or copied.*keep the Variables"):
            copier(holder.tape)
    if copier is not copy.copy:
        with pytest.raises(TypeError, match="GradientTape cannot be pickled"):
            copier(holder)
    assert float(holder.tape.gradient(y, v)) == 6.0


# ---- Modules and optimizers ------------------------------------------------------------------------------------------


INPUTS = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)


def one_step(net, optimizer):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(net(INPUTS) - 1.0))
    variables = net.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def trained(net, optimizer):
    for _ in range(3):
        one_step(net, optimizer)
    return [v.numpy() for v in net.variables]


def network():
    return jt.nn.Sequential([jt.nn.Dense(4, "tanh", input_dim=3), jt.nn.Dense(1, input_dim=4)])


@copiers
@pytest.mark.parametrize("make", [jt.optimizers.Adam, lambda: jt.optimizers.SGD(0.1, 0.9)])
def test_training_goes_on_where_it_was(copier, make):
    net, optimizer = network(), make()
    trained(net, optimizer)
    other, other_optimizer = copier((net, optimizer))
    wanted = trained(net, optimizer)
    for found, value in zip(trained(other, other_optimizer), wanted, strict=True):
        np.testing.assert_array_equal(found, value)
    assert int(other_optimizer.iterations) == int(optimizer.iterations) == 6


def test_a_shallow_copy_of_a_module_shares_its_variables():
    net = network()
    other = copy.copy(net)
    assert other is not net
    assert all(a is b for a, b in zip(other.variables, net.variables, strict=True))


def test_a_shallow_copy_of_an_optimizer_goes_on_with_the_same_state():
    net, optimizer = network(), jt.optimizers.Adam()
    trained(net, optimizer)
    other = copy.copy(optimizer)
    trained(net, other)
    assert other.iterations is optimizer.iterations
    assert int(optimizer.iterations) == 6


@copiers
@pytest.mark.parametrize("make", [jt.optimizers.Adam, lambda: jt.optimizers.SGD(0.1, 0.9)])
def test_training_in_a_compiled_function_goes_on(copier, make):
    net, optimizer = network(), make()
    step = jt.function(one_step)
    for _ in range(3):
        step(net, optimizer)
    other, other_optimizer = copier((net, optimizer))
    for _ in range(3):
        step(net, optimizer)
        step(other, other_optimizer)
    for found, value in zip(other.variables, net.variables, strict=True):
        np.testing.assert_array_equal(found.numpy(), value.numpy())


# ---- compiled functions ----------------------------------------------------------------------------------------------


@jt.function
def doubled(x):
    return x * 2.0


@jt.function(input_signature=[jt.TensorSpec([None], jt.float64)])
def described(x):
    return x * 2.0


def plain(x):
    return x * 3.0


tripled = jt.function(plain)


class Model(jt.Module):
    def __init__(self):
        super().__init__()
        self.w = jt.Variable([1.0, 2.0])
        self.compiled = jt.function(self.predict)
        self.train = self.train  # the bound method, kept as an attribute of its own name
        self.predict = jt.function(self.predict)
        self.concrete = self.train.get_concrete_function(jt.TensorSpec([2]), 1)

    def predict(self, x):
        return self.w * x

    @jt.function
    def train(self, x, rate):
        self.w.assign_sub(rate * x)
        return self.w + 0.0


every_copier = pytest.mark.parametrize(
    "copier", [copy.copy, copy.deepcopy, *map(pickled, PROTOCOLS), without_c]
)


@every_copier
def test_a_function_of_a_module_is_the_very_object(copier):
    assert copier(doubled) is doubled
    assert copier(described) is described


def test_a_function_under_another_name_is_made_anew():
    other = pickle.loads(pickle.dumps(tripled))
    assert other is not tripled
    assert float(other(2.0)) == 6.0
    assert (other.trace_count, other.__name__) == (1, "plain")
    assert copy.deepcopy(tripled) is copy.copy(tripled) is tripled


@every_copier
def test_the_function_below_a_compiled_one(copier):
    other = jt.function(doubled.__wrapped__, input_signature=[jt.TensorSpec([2], jt.float32)])
    assert pickle.loads(pickle.dumps(other)).__wrapped__ is doubled.__wrapped__
    again = copier(other)
    assert again is not doubled
    assert again([1.0, 2.0]).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="input_signature"):
        again([1.0])


def test_what_a_name_stands_for_is_looked_up_when_loading(monkeypatch):
    data = pickle.dumps(described)
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "described", lambda x: x + 1.0)
    rebuilt = pickle.loads(data)  # no longer decorated there
    assert rebuilt(np.array([1.0])).tolist() == [2.0]
    with pytest.raises(TypeError, match="input_signature"):
        rebuilt(jt.constant([1.0], jt.float32))
    monkeypatch.delattr(module, "described")
    with pytest.raises(AttributeError, match="'described'.*no function of this name.*define it in a module"):
        pickle.loads(data)
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        loaded(jt.Function, "nowhere", "f")


def test_functions_that_pickle_cannot_find():
    for f in (jt.function(lambda x: x), jt.function(functools.partial(lambda x: x))):
        with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
            pickle.dumps(f)
        assert float(copy.deepcopy(f)(2.0)) == 2.0


@copiers
def test_a_partial_function(copier):
    f = jt.function(functools.partial(np.multiply, 2.0))
    assert float(copier(f)(jt.constant(3.0))) == 6.0


@copiers
def test_methods_and_functions_over_methods(copier):
    model = Model()
    model.train(jt.constant([1.0, 1.0]), 1)
    other = copier(model)
    assert other.w.tolist() == [0.0, 1.0]
    assert type(other.train) is type(model.train)
    assert other.train.__self__ is other
    assert other.train(jt.constant([1.0, 1.0]), 1).tolist() == [-1.0, 0.0]
    assert other.concrete(jt.constant([1.0, 1.0]), 1).tolist() == [-2.0, -1.0]
    for f in (other.compiled, other.predict):
        assert isinstance(f, jt.Function)
        assert f(jt.constant([1.0, 3.0])).tolist() == [-2.0, -3.0]
    assert model.w.tolist() == [0.0, 1.0]
    assert model.predict(jt.constant([1.0, 3.0])).tolist() == [0.0, 3.0]


@copiers
def test_a_method_has_the_traces_of_its_instance(copier):
    model = Model()
    method, other = copier((model.train, model))
    before = method.trace_count
    method(jt.constant([1.0, 1.0]), 1)
    assert (before, type(other).train.__get__(other).trace_count) == (0, 1)


@copiers
@pytest.mark.parametrize("name", ["compiled", "predict", "train", "concrete"])
def test_a_pickle_may_begin_at_the_function(copier, name):
    model = Model()
    start = jt.constant([1.0, 1.0])
    f, other = copier((getattr(model, name), model))
    held = getattr(other, name)
    assert held.__self__ is f.__self__ is other if name == "train" else held is f
    arguments = (start, 1) if name in ("train", "concrete") else (start,)
    wanted = [0.0, 1.0] if name in ("train", "concrete") else [1.0, 2.0]
    assert f(*arguments).tolist() == wanted
    assert other.w.tolist() == wanted
    assert model.w.tolist() == [1.0, 2.0]


@copiers
def test_a_module_that_is_called_itself(copier):
    f = jt.function(jt.nn.Dense(2, input_dim=3))
    x = jt.ones([1, 3])
    np.testing.assert_array_equal(copier(f)(x), f(x))


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickled(pickle.HIGHEST_PROTOCOL)])
def test_concrete_functions(copier):
    v = jt.Variable(2.0)
    concrete = powers.get_concrete_function(v, {"x": np.ones(3), "scale": 0.5}, 3)
    before = powers.trace_count
    other, w = copier((concrete, v)) if copier is not copy.copy else (copy.copy(concrete), v)
    assert (str(other.signature), repr(other)) == (str(concrete.signature), repr(concrete))
    assert powers.trace_count == before, "copied without running anything"
    w.assign(4.0)
    assert other(w, {"x": np.ones(3), "scale": 0.25}, 3).tolist() == [1.0] * 3
    assert len(other.program.ops) == len(concrete.program.ops)
    with pytest.raises(TypeError, match="for .*float64.3., .*got .*float32.3."):
        other(w, {"x": np.ones(3, np.float32), "scale": 0.25}, 3)
    with pytest.raises(TypeError, match="this concrete function is for"):
        other(w, {"x": np.ones(3), "scale": 0.25}, 2)


@jt.function
def powers(v, data, n):
    for _ in range(n):
        data = {**data, "x": data["x"] * data["x"]}
    return v * data["x"] * data["scale"]


# ---- cloudpickle -----------------------------------------------------------------------------------------------------


def test_local_functions_by_cloudpickle():
    w = jt.Variable(2.0)

    @jt.function
    def local(x, depth):
        return w * x if depth == 0 else local(x, depth - 1)

    concrete = local.get_concrete_function(jt.TensorSpec([]), 2)
    other, other_concrete, other_w = pickle.loads(cloudpickle.dumps((local, concrete, w)))
    assert other is not local
    other_w.assign(5.0)
    assert float(other(3.0, 2)) == float(other_concrete(jt.constant(3.0), 2)) == 15.0
    assert float(w) == 2.0
    assert cloudpickle.loads(cloudpickle.dumps(doubled)) is doubled


def test_local_classes_by_cloudpickle():
    class Local(jt.Module):
        def __init__(self):
            super().__init__()
            self.w = jt.Variable(2.0)

        @jt.function
        def scaled(self, x):
            return self.w * x

    model = Local()
    assert float(model.scaled(3.0)) == 6.0
    other, method = pickle.loads(cloudpickle.dumps((model, model.scaled)))
    other.w.assign(4.0)
    assert float(other.scaled(3.0)) == float(method(3.0)) == 12.0


# ---- other processes -------------------------------------------------------------------------------------------------

LIBRARY = """
import jittape as jt

class Model(jt.Module):
    def __init__(self):
        super().__init__()
        self.net = jt.nn.Sequential([jt.nn.Dense(4, "tanh", input_dim=3), jt.nn.Dense(1, input_dim=4)])
        self.optimizer = jt.optimizers.Adam(0.1)

    @jt.function
    def train(self, x, y):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(self.net(x) - y))
        variables = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

@jt.function
def score(x):
    return jt.reduce_sum(jt.exp(x) / (1.0 + x * x))

@jt.function
def settled(x, n):
    step = lambda i, x: (i + 1, jt.cond(i < 2, lambda: jt.cos(x), lambda: jt.sin(x[:n] @ x[:n]) * x))
    with jt.GradientTape() as tape:
        tape.watch(x)
        _, y = jt.while_loop(lambda i, x: jt.reduce_max(x) + 0.1 * i < 1.5, step, [jt.constant(0.0), x])
    return tape.gradient(y, x) + jt.fori_loop(0, 5, lambda i, y: y * 0.5 + jt.linalg.norm(y), y)
"""

COUNTED = """
from jittape.compile.llvm import target
compile_module, batches = target.compile_module, 0
def counted(module):
    global batches
    batches += 1
    return compile_module(module)
target.compile_module = counted
"""

FIRST = (
    COUNTED
    + """
import pickle, sys
import numpy as np, jittape as jt
import library
jt.random.set_seed(0)
x, y = np.linspace(-1, 1, 12).reshape(4, 3).astype("float32"), np.ones((4, 1), "float32")
model, score, settled = library.Model(), library.score, library.settled
for i in range(3):
    model.train(x, y)
    settled(x[0], 2)
score(x)
concrete = score.get_concrete_function(jt.TensorSpec([4, 3]))
with open(sys.argv[1], "wb") as file:
    pickle.dump((model, score, concrete, settled), file)
"""
)

SAME = """
print([float(model.train(x, y)) for i in range(3)], float(score(x)), float(concrete(x)))
print([settled(x[0], 2).numpy().tolist() for i in range(3)])
stats = jt.stats()
print(stats.programs, stats.kernels, stats.kernels_loaded + stats.kernels_found > 0, batches)
"""

SECOND = (
    COUNTED
    + """
import pickle, sys
import numpy as np, jittape as jt
with open(sys.argv[1], "rb") as file:
    model, score, concrete, settled = pickle.load(file)
assert score is sys.modules["library"].score
print(score.trace_count, model.train.trace_count, jt.stats().programs)
x, y = np.linspace(-1, 1, 12).reshape(4, 3).astype("float32"), np.ones((4, 1), "float32")
"""
)


def test_another_process_compiles_nothing(tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    variables = {
        "PYTHONPATH": os.pathsep.join([SOURCE, str(tmp_path)]),
        "JITTAPE_CACHE_DIR": str(tmp_path / "cache"),
    }
    pickled = str(tmp_path / "pickled")
    first = run_python("-c", FIRST + SAME, pickled, **variables)
    assert first.stderr == ""
    *values, compiled = first.stdout.splitlines()
    assert int(compiled.split()[1]) > 0

    second = run_python("-c", SECOND + SAME, pickled, **variables)
    assert second.stderr == ""
    assert second.stdout.splitlines() == ["0 0 0", *values, "3 0 True 0"]

    empty = variables | {"JITTAPE_CACHE_DIR": str(tmp_path / "empty")}
    third = run_python("-c", SECOND + SAME, pickled, **empty)
    assert third.stdout.splitlines()[:3] == ["0 0 0", *values]
    assert int(third.stdout.splitlines()[3].split()[1]) > 0


def test_a_function_of_the_main_program(tmp_path):
    """Loaded by another program, it is not there; the error says so."""
    script = "import jittape as jt, pickle, sys\n@jt.function\ndef f(x):\n    return x + 1.0\n"
    made = run_python("-c", f"{script}print(pickle.dumps(f).hex(), pickle.loads(pickle.dumps(f)) is f)")
    data, same = made.stdout.split()
    assert same == "True"
    done = run_python("-c", f"{script}print(float(pickle.loads(bytes.fromhex({data!r}))(1.0)))")
    assert done.stdout == "2.0\n"
    with pytest.raises(AttributeError, match="compiled function 'f': the module '__main__' has no function"):
        pickle.loads(bytes.fromhex(data))


def test_the_parts_of_a_pickle_are_in_use():
    other = jt.function(doubled.__wrapped__)
    assert other.__reduce__()[2][0] == Undecorated(__name__, "doubled")
