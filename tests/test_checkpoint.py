"""`jt.train`: checkpoints of several objects. Numbers, paths and types of errors are those of TensorFlow 2.21."""

from __future__ import annotations

import errno
import gc
import itertools
import os

import numpy as np
import pytest

import jittape as jt
from jittape.core.attachments import listeners
from processes import run_python

pytestmark = pytest.mark.usefixtures("small_heap")


@pytest.fixture(autouse=True)
def nothing_listens_afterwards():
    before = list(listeners)
    yield
    gc.collect()
    assert listeners == before


class Line(jt.Module):
    def __init__(self, size=2):
        super().__init__()
        self.w = jt.Variable(np.arange(1.0, size + 1.0))
        self.parts = [jt.Variable(3.0)]


def names(folder):
    return sorted(os.listdir(folder))


# ---- save and restore ------------------------------------------------------------------------------------------------


def test_saving_counts_and_restoring_gives_the_values_back(tmp_path):
    line, step = Line(), jt.Variable(5)
    checkpoint = jt.train.Checkpoint(model=line, step=step)
    assert int(checkpoint.save_counter) == 0
    prefix = str(tmp_path / "sub" / "ckpt")
    first = checkpoint.save(prefix)
    line.w.assign([7.0, 8.0])
    second = checkpoint.save(prefix)
    assert (first, second, int(checkpoint.save_counter)) == (f"{prefix}-1", f"{prefix}-2", 2)
    assert names(tmp_path / "sub") == ["checkpoint", "ckpt-1.npz", "ckpt-2.npz"]
    assert jt.train.latest_checkpoint(tmp_path / "sub") == second
    step.assign(9)
    status = checkpoint.restore(first)
    assert (line.w.tolist(), int(step), int(checkpoint.save_counter)) == ([1.0, 2.0], 5, 1)
    assert status.assert_consumed() is status
    assert status.assert_existing_objects_matched().assert_nontrivial_match().expect_partial() is status
    checkpoint.restore(f"{second}.npz").assert_consumed()
    assert line.w.tolist() == [7.0, 8.0]


def test_write_and_read_do_not_count(tmp_path):
    v = jt.Variable([1.0])
    checkpoint = jt.train.Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "one")
    assert path == str(tmp_path / "one")
    assert names(tmp_path) == ["one.npz"]
    assert jt.train.latest_checkpoint(tmp_path) is None
    v.assign([2.0])
    checkpoint.read(path).assert_consumed()
    assert v.tolist() == [1.0]
    checkpoint.restore(path).assert_consumed()  # TensorFlow asks for a save_counter
    assert jt.train.list_variables(path) == [("v", [1])]


def test_a_checkpoint_is_a_file_of_weights(tmp_path):
    line = Line()
    path = jt.train.Checkpoint(line).write(tmp_path / "line")
    with np.load(f"{path}.npz") as file:
        assert sorted(file) == ["parts.0", "w"]
    other = Line()
    other.w.assign([0.0, 0.0])
    other.load_weights(f"{path}.npz")
    assert other.w.tolist() == [1.0, 2.0]


def test_objects_of_every_kind(tmp_path):
    def objects():
        shared = jt.Variable(1.0)
        metric = jt.keras.metrics.Mean()
        return {
            "variable": jt.Variable([1.0, 2.0]),
            "listed": [jt.Variable(1), {"k": jt.Variable(2.0)}, 3, "text"],
            "metric": metric,
            "generator": jt.random.Generator.from_seed(1),
            "inner": jt.train.Checkpoint(a=shared, b=(shared,)),
            "rate": jt.optimizers.SGD(0.5, momentum=0.9),
        }

    one, other = objects(), objects()
    one["variable"].assign([3.0, 4.0])
    one["listed"][1]["k"].assign(5.0)
    one["metric"].update_state([2.0, 4.0])
    one["generator"].normal([3])
    one["rate"].apply_gradients([(jt.ones(2), one["variable"])])
    other["rate"].build([other["variable"]])
    path = jt.train.Checkpoint(**one).write(tmp_path / "all")
    jt.train.Checkpoint(**other).read(path).assert_consumed()
    assert other["variable"].tolist() == one["variable"].tolist()
    assert float(other["listed"][1]["k"]) == 5.0
    assert float(other["metric"].result()) == 3.0
    assert other["generator"].normal([4]).tolist() == one["generator"].normal([4]).tolist()
    assert [a.tolist() for a in other["rate"].get_weights()] == [
        a.tolist() for a in one["rate"].get_weights()
    ]
    assert [name for name, _ in jt.train.list_variables(path) if name.startswith("inner")] == ["inner.a"]


@pytest.mark.parametrize("value", [3, 2.0, np.ones(2), "text", None, abs])
def test_objects_without_variables(value):
    with pytest.raises(ValueError, match=r"expecting a to be a trackable object .* jt\.Variable"):
        jt.train.Checkpoint(a=value)


def test_iterators_are_refused_with_the_reason():
    for value, reason in (
        (jt.data.Dataset.range(3), r"has no position; keep iter\(dataset\)"),
        (iter([1]), r"only the position of iter\(dataset\) is saved"),
    ):
        with pytest.raises(ValueError, match=reason):
            jt.train.Checkpoint(data=value)


@pytest.mark.parametrize("consumed", [0, 2, 5])
@pytest.mark.parametrize(
    "make",
    [
        lambda: jt.data.Dataset.range(10).map(lambda i: i * i).batch(3),
        lambda: jt.data.Dataset.range(10).shuffle(5).repeat().batch(3).prefetch(2),
        lambda: jt.data.Dataset.range(10).shuffle(10, seed=3).repeat(3).batch(4),
        lambda: jt.data.Dataset.range(10).shuffle(10, reshuffle_each_iteration=False).repeat(3).batch(4),
        lambda: jt.data.Dataset.zip(*[jt.data.Dataset.range(9).shuffle(9).prefetch(1) for _ in range(2)]),
    ],
)
def test_a_restored_iterator_continues(tmp_path, make, consumed):
    data = make()
    next(iter(data))  # an earlier pass
    iterator = iter(data)
    checkpoint = jt.train.Checkpoint(data=iterator)

    def taken(iterator, count):
        return [[leaf.tolist() for leaf in jt.nest.flatten(e)] for e in itertools.islice(iterator, count)]

    first = taken(iterator, max(consumed, 1))  # orders are drawn by the first element
    path = checkpoint.save(tmp_path / "ckpt")
    expected = taken(iterator, 4)
    other = iter(make())
    next(other)
    jt.train.Checkpoint(data=other).restore(path).assert_consumed()
    assert taken(other, 4) == expected
    checkpoint.restore(path)
    assert taken(iterator, 4) == expected
    assert first


def test_an_iterator_of_another_dataset(tmp_path):
    iterator = iter(jt.data.Dataset.range(10))
    for _ in range(6):
        iterator.get_next()
    path = jt.train.Checkpoint(data=iterator).write(tmp_path / "c")
    short = iter(jt.data.Dataset.range(3))
    jt.train.Checkpoint(data=short).read(path)
    with pytest.raises(
        jt.errors.OutOfRangeError, match=r"position .* is 6, but this dataset has only 3 elements"
    ):
        next(short)
    ended = iter(jt.data.Dataset.range(1))
    next(ended)
    with pytest.raises(jt.errors.OutOfRangeError, match="at the end of its dataset"):
        ended.get_next()
    many = jt.data.Dataset.range(3)
    for _ in range(16):
        many = many.shuffle(3)
    iterator = iter(many)
    next(iterator)
    with pytest.raises(ValueError, match="at most 15 shuffles, and this one has 16"):
        jt.train.Checkpoint(data=iterator).write(tmp_path / "d")


def test_a_root_has_attributes(tmp_path):
    line = Line()
    assert jt.train.list_variables(jt.train.Checkpoint(line, more=jt.Variable(1)).save(tmp_path / "r")) == [
        ("more", []),
        ("parts.0", []),
        ("save_counter", []),
        ("w", [2]),
    ]
    with pytest.raises(ValueError, match="needs an object with attributes as its root"):
        jt.train.Checkpoint([line])
    with pytest.raises(ValueError, match="the root of the checkpoint has another object named 'w'"):
        jt.train.Checkpoint(line, w=jt.Variable(1.0)).save(tmp_path / "r")
    with pytest.raises(ValueError, match="`save_counter` counts the calls"):
        jt.train.Checkpoint(save_counter=jt.Variable(1))


def test_pending_values_are_computed_and_replaced(tmp_path):
    v = jt.Variable([1.0, 2.0])
    checkpoint = jt.train.Checkpoint(v=v)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(v * v)
    v.assign_sub(tape.gradient(y, v) * 0.25)
    path = checkpoint.write(tmp_path / "pending")
    v.assign_add([100.0, 100.0])
    checkpoint.read(path)
    assert v.tolist() == [0.5, 1.0]


def test_training_continues_exactly(tmp_path):
    def program():
        jt.random.set_seed(3)
        net = jt.keras.Sequential([jt.keras.layers.Dense(3, "tanh"), jt.keras.layers.Dense(1)])
        return net, jt.optimizers.Adam(0.1)

    def train(net, optimizer, steps):
        x = jt.constant([[1.0, 2.0], [0.5, -1.0]])
        for _ in range(steps):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(net(x) ** 2)
            optimizer.apply_gradients(
                zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables, strict=True)
            )
        return net(x).tolist()

    net, optimizer = program()
    train(net, optimizer, 3)
    path = jt.train.Checkpoint(model=net, optimizer=optimizer).save(tmp_path / "ckpt")
    wanted = train(net, optimizer, 3)
    net, optimizer = program()
    status = jt.train.Checkpoint(model=net, optimizer=optimizer).restore(path)
    assert train(net, optimizer, 3) == wanted
    status.assert_consumed()


# ---- Variables that are created later --------------------------------------------------------------------------------


def test_variables_created_after_restoring_receive_their_values(tmp_path):
    path = jt.train.Checkpoint(model=Line(), step=jt.Variable(5)).save(tmp_path / "ckpt")
    module = jt.Module()
    checkpoint = jt.train.Checkpoint(model=module)
    status = checkpoint.restore(path)
    status.assert_existing_objects_matched()
    with pytest.raises(
        AssertionError, match=r"(?s)3 values have no Variable:\n  'model\.w' \(float64\[2\]\)"
    ):
        status.assert_consumed()
    module.w = jt.Variable(np.zeros(2))
    assert module.w.tolist() == [1.0, 2.0]
    module.parts = [jt.Variable(0.0)]
    assert float(module.parts[0]) == 3.0
    module.w = jt.Variable(np.zeros(2))  # its value has been used
    assert module.w.tolist() == [0.0, 0.0]
    checkpoint.step = jt.Variable(0)
    assert int(checkpoint.step) == 5
    status.assert_consumed()


def test_values_wait_also_if_only_the_module_is_kept(tmp_path):
    path = jt.train.Checkpoint(model=Line()).write(tmp_path / "ckpt")
    module = jt.Module()
    jt.train.Checkpoint(model=module).read(path)
    gc.collect()
    module.inner = jt.Module()
    module.w = jt.Variable(np.zeros(2))
    assert module.w.tolist() == [1.0, 2.0]
    assert len(listeners) == 1
    del module
    gc.collect()
    assert not listeners
    assert "__setattr__" not in vars(jt.Module)


def test_attributes_are_set_as_before_once_nothing_waits(tmp_path):
    class Counted:
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            vars(self)["count"] = vars(self).get("count", 0) + 1

    class CountedModule(jt.Module, Counted):
        pass

    path = jt.train.Checkpoint(model=Line(), more=Line()).write(tmp_path / "ckpt")
    module, more = CountedModule(), CountedModule()
    one, other = jt.train.Checkpoint(model=module), jt.train.Checkpoint(model=module, more=more)
    one.read(path)
    other.read(path)
    before = module.count
    assert "__setattr__" in vars(jt.Module)
    module.w = jt.Variable(np.zeros(2))
    assert module.w.tolist() == [1.0, 2.0]
    one.read(path)  # its first restoration ends
    more.w = jt.Variable(np.zeros(2))
    assert more.w.tolist() == [1.0, 2.0]
    del one, other, more
    gc.collect()
    assert module.count == before + 1
    module.parts = [jt.Variable(0.0)]
    assert float(module.parts[0]) == 3.0
    assert module.count == before + 2
    del module
    gc.collect()
    assert not listeners
    assert "__setattr__" not in vars(jt.Module)


def test_a_part_of_a_checkpoint_in_nested_checkpoints(tmp_path):
    path = jt.train.Checkpoint(net=Line(), step=jt.Variable(5)).save(tmp_path / "ckpt")
    inner = jt.train.Checkpoint()
    jt.train.Checkpoint(net=inner).restore(path)
    inner.w = jt.Variable(np.zeros(2))
    assert inner.w.tolist() == [1.0, 2.0]
    status = jt.train.Checkpoint(net=jt.train.Checkpoint(w=jt.Variable(np.zeros(2)))).restore(path)
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="2 values have no Variable"):
        status.assert_consumed()


def test_a_counter_created_after_reading_continues(tmp_path):
    path = jt.train.Checkpoint(v=jt.Variable(1.0)).save(tmp_path / "ckpt")
    later = jt.train.Checkpoint(v=jt.Variable(0.0))
    later.read(path)
    assert later.save(tmp_path / "ckpt") == str(tmp_path / "ckpt-2")


def test_layers_and_optimizers_in_a_compiled_function(tmp_path):
    def program(rate):
        net, optimizer = jt.keras.Sequential([jt.keras.layers.Dense(2)]), jt.optimizers.Adam(rate)

        @jt.function
        def step(x):
            with jt.GradientTape() as tape:
                loss = jt.reduce_sum(net(x) ** 2)
            variables = net.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        return net, optimizer, step

    x = jt.constant([[1.0, 2.0, 3.0]])
    net, optimizer, step = program(0.1)
    step(x)
    path = jt.train.Checkpoint(net=net, optimizer=optimizer).save(tmp_path / "ckpt")
    net2, optimizer2, step2 = program(0.5)
    status = jt.train.Checkpoint(net=net2, optimizer=optimizer2).restore(path)
    assert [float(step2(x)) for _ in range(4)] == [float(step(x)) for _ in range(4)]
    status.assert_consumed()
    assert [a.tolist() for a in optimizer2.get_weights()] == [a.tolist() for a in optimizer.get_weights()]


def test_a_gradient_of_a_layer_that_is_built_inside_the_tape(tmp_path):
    layer = jt.nn.Dense(1, input_dim=2)
    path = jt.train.Checkpoint(layer=layer).write(tmp_path / "layer")
    later = jt.keras.layers.Dense(1)
    jt.train.Checkpoint(layer=later).read(path)
    with jt.GradientTape() as tape:
        y = later(jt.constant([[2.0, 3.0]]))
    assert tape.gradient(y, later.kernel).tolist() == [[2.0], [3.0]]
    assert y.tolist() == layer(jt.constant([[2.0, 3.0]])).tolist()


def test_a_later_variable_of_another_shape(tmp_path):
    path = jt.train.Checkpoint(model=Line()).write(tmp_path / "ckpt")
    module = jt.Module()
    jt.train.Checkpoint(model=module).read(path)
    with pytest.raises(jt.WeightsError, match=r"has float64\[2\] for 'model\.w', but .* is float64\[3\]"):
        module.w = jt.Variable(np.zeros(3))
    assert module.w.tolist() == [0.0, 0.0, 0.0]


def test_a_list_that_grows_is_reported_not_guessed(tmp_path):
    path = jt.train.Checkpoint(model=Line()).write(tmp_path / "ckpt")
    module = jt.Module()
    module.parts, module.w = [], jt.Variable(np.zeros(2))
    status = jt.train.Checkpoint(model=module).read(path)
    module.parts.append(jt.Variable(0.0))
    with pytest.raises(
        AssertionError, match=r"(?s)added to a list or a dict after restore.*'model\.parts\.0'"
    ):
        status.assert_consumed()
    module.parts = module.parts
    assert float(module.parts[0]) == 3.0
    status.assert_consumed()


def test_another_restoration_replaces_waiting_values(tmp_path):
    line = Line()
    checkpoint = jt.train.Checkpoint(model=line)
    first = checkpoint.write(tmp_path / "first")
    line.w.assign([5.0, 6.0])
    second = checkpoint.write(tmp_path / "second")
    module = jt.Module()
    later = jt.train.Checkpoint(model=module)
    later.read(first)
    later.read(second)
    module.w = jt.Variable(np.zeros(2))
    assert module.w.tolist() == [5.0, 6.0]


# ---- checkpoints that do not fit -------------------------------------------------------------------------------------


def test_other_shapes_and_dtypes_change_nothing(tmp_path):
    path = jt.train.Checkpoint(model=Line(), step=jt.Variable(5)).save(tmp_path / "ckpt")
    other, step = Line(3), jt.Variable(0)
    checkpoint = jt.train.Checkpoint(model=other, step=step)
    with pytest.raises(
        jt.WeightsError,
        match=r"(?s)nothing was restored.*'model\.w' has shape \(2,\) in the file, but \(3,\)",
    ):
        checkpoint.restore(path)
    assert (other.w.tolist(), int(step), int(checkpoint.save_counter)) == ([1.0, 2.0, 3.0], 0, 0)
    with pytest.raises(jt.WeightsError, match="'step' is int32 in the file, but float32"):
        jt.train.Checkpoint(step=jt.Variable(0.0)).restore(path)


def test_a_checkpoint_of_other_objects(tmp_path):
    path = jt.train.Checkpoint(model=Line()).save(tmp_path / "ckpt")
    other = jt.train.Checkpoint(net=Line())
    with pytest.raises(
        jt.WeightsError, match=r"(?s)checkpoint of other objects.*'model\.w' \(float64\[2\]\).*'net\.w'"
    ):
        other.restore(path)


def test_objects_without_a_value(tmp_path):
    path = jt.train.Checkpoint(model=Line()).save(tmp_path / "ckpt")
    module = Line()
    module.more = jt.Variable(1.0, name="more")
    status = jt.train.Checkpoint(model=module).restore(path)
    for check in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(
            AssertionError, match=r"(?s)1 Variables have no value.*'model\.more' \(float32\[\], 'more:0'"
        ):
            check()
    status.assert_nontrivial_match()


def test_an_empty_checkpoint(tmp_path):
    path = jt.train.Checkpoint().write(tmp_path / "empty")
    with pytest.raises(AssertionError, match="Nothing to load"):
        jt.train.Checkpoint(v=jt.Variable(1.0)).read(path).assert_nontrivial_match()


def test_nothing_to_restore():
    status = jt.train.Checkpoint(v=jt.Variable(1.0)).restore(None)
    assert status.expect_partial() is status
    for check in (
        status.assert_consumed,
        status.assert_existing_objects_matched,
        status.assert_nontrivial_match,
    ):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            check()


def test_paths_that_are_no_checkpoint(tmp_path):
    v = jt.Variable(1.0)
    checkpoint = jt.train.Checkpoint(v=v)
    with pytest.raises(FileNotFoundError, match=r"the '-1' in 'ckpt-1'") as caught:
        checkpoint.restore(tmp_path / "ckpt")
    assert isinstance(caught.value, jt.errors.NotFoundError)
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == str(tmp_path / "ckpt.npz")
    assert v.numpy() == 1.0
    with pytest.raises(IsADirectoryError, match="latest_checkpoint"):
        checkpoint.restore(tmp_path)
    for load in (jt.train.load_checkpoint, jt.train.list_variables):
        with pytest.raises(FileNotFoundError, match="no checkpoint in the folder"):
            load(tmp_path)


def test_a_damaged_file_changes_nothing(tmp_path):
    one, other = jt.Variable([1.0]), jt.Variable([2.0])
    checkpoint = jt.train.Checkpoint(one=one, other=other)
    path = checkpoint.save(tmp_path / "ckpt")
    file = tmp_path / "ckpt-1.npz"
    content = bytearray(file.read_bytes())
    position = content.index(np.float32(2.0).tobytes())
    content[position] ^= 1
    file.write_bytes(content)
    one.assign([5.0])
    with pytest.raises(jt.WeightsError, match="is damaged or incomplete, at 'other.npy'"):
        checkpoint.restore(path)
    assert (one.tolist(), other.tolist()) == ([5.0], [2.0])


KILLED = """
import os, sys, jittape as jt
v = jt.Variable(1.0)
manager = jt.train.CheckpointManager(jt.train.Checkpoint(v=v), sys.argv[1], max_to_keep=1)
manager.save()
v.assign(2.0)
moments = iter(range(int(sys.argv[2])))
replace = os.replace
def die_at_last(*paths):
    next(moments, None) is None and os._exit(7)
    replace(*paths)
os.replace = die_at_last
manager.save()
"""


@pytest.mark.parametrize("moment", [0, 1], ids=["before the data", "before the list"])
def test_a_killed_session_leaves_the_previous_checkpoint(tmp_path, moment):
    done = run_python("-c", KILLED, str(tmp_path), str(moment))
    assert done.returncode == 7
    v = jt.Variable(0.0)
    manager = jt.train.CheckpointManager(jt.train.Checkpoint(v=v), tmp_path, max_to_keep=1)
    assert manager.restore_or_initialize() == str(tmp_path / "ckpt-1")
    assert float(v) == 1.0
    v.assign(3.0)
    assert manager.save() == str(tmp_path / "ckpt-2")
    assert [name for name in names(tmp_path) if not name.endswith(".tmp")] == ["checkpoint", "ckpt-2.npz"]


def test_a_failed_write_keeps_the_counter(tmp_path, monkeypatch):
    checkpoint = jt.train.Checkpoint(v=jt.Variable(1.0))
    checkpoint.save(tmp_path / "ckpt")

    def full(*paths):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(os, "replace", full)
        checkpoint.save(tmp_path / "ckpt")
    assert names(tmp_path) == ["checkpoint", "ckpt-1.npz"]
    assert checkpoint.save(tmp_path / "ckpt") == str(tmp_path / "ckpt-2")


# ---- single values ---------------------------------------------------------------------------------------------------


def test_reading_single_values(tmp_path):
    path = jt.train.Checkpoint(model=Line(), step=jt.Variable(5)).save(tmp_path / "ckpt")
    listed = [("model.parts.0", []), ("model.w", [2]), ("save_counter", []), ("step", [])]
    assert jt.train.list_variables(path) == jt.train.list_variables(tmp_path) == listed
    reader = jt.train.load_checkpoint(tmp_path)
    assert reader.get_variable_to_shape_map() == dict(listed)
    assert reader.get_variable_to_dtype_map()["step"] == jt.int32
    assert reader.has_tensor("model.w")
    assert not reader.has_tensor("model")
    np.testing.assert_array_equal(reader.get_tensor("model.w"), [1.0, 2.0])
    assert jt.train.load_variable(path, "step") == 5
    with pytest.raises(KeyError, match="has no value 'model'; it has"):
        reader.get_tensor("model")


def test_the_file_that_names_the_latest(tmp_path):
    assert jt.train.get_checkpoint_state(tmp_path) is None
    assert jt.train.latest_checkpoint(tmp_path / "no folder") is None
    path = jt.train.Checkpoint(v=jt.Variable(1)).save(tmp_path / 'a "name"')
    state = jt.train.get_checkpoint_state(tmp_path)
    assert (state.model_checkpoint_path, state.all_model_checkpoint_paths) == (path, (path,))
    assert jt.train.latest_checkpoint(tmp_path) == path
    os.unlink(f"{path}.npz")
    assert jt.train.latest_checkpoint(tmp_path) is None
    (tmp_path / "checkpoint").write_text("something else\n")
    with pytest.raises(jt.WeightsError, match="does not name checkpoints"):
        jt.train.latest_checkpoint(tmp_path)
    with pytest.raises(ValueError, match="latest_filename must be None"):
        jt.train.latest_checkpoint(tmp_path, "other")


# ---- CheckpointManager -----------------------------------------------------------------------------------------------


def managed(folder, **options):
    v = jt.Variable(0)
    return v, jt.train.CheckpointManager(jt.train.Checkpoint(v=v), folder, **options)


def last_parts(paths):
    return [os.path.basename(path) for path in paths]


def test_a_manager_keeps_the_last_ones(tmp_path):
    v, manager = managed(tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None
    assert manager.restore_or_initialize() is None
    for n in range(1, 5):
        v.assign(n)
        assert manager.save() == str(tmp_path / f"ckpt-{n}")
    assert last_parts(manager.checkpoints) == ["ckpt-3", "ckpt-4"]
    assert names(tmp_path) == ["checkpoint", "ckpt-3.npz", "ckpt-4.npz"]
    other, later = managed(str(tmp_path), max_to_keep=2)
    assert later.checkpoints == manager.checkpoints
    assert later.restore_or_initialize() == later.latest_checkpoint == str(tmp_path / "ckpt-4")
    assert (int(other), later.directory, later.checkpoint_interval) == (4, str(tmp_path), None)
    assert later.checkpoint.v is other
    assert later.save(checkpoint_number=100) == str(tmp_path / "ckpt-100")
    assert later.save() == str(tmp_path / "ckpt-6")
    assert last_parts(later.checkpoints) == ["ckpt-100", "ckpt-6"]


def test_a_manager_keeps_all(tmp_path):
    _, manager = managed(tmp_path, max_to_keep=None, checkpoint_name="all")
    for _ in range(3):
        manager.save()
    assert last_parts(manager.checkpoints) == ["all-1", "all-2", "all-3"]


def test_an_interval_of_steps(tmp_path):
    step = jt.Variable(4)
    _, manager = managed(tmp_path, max_to_keep=3, step_counter=step, checkpoint_interval=2)
    saved = []
    for _ in range(5):
        step.assign_add(1)
        saved.append(manager.save())
    assert [path and os.path.basename(path) for path in saved] == ["ckpt-1", None, "ckpt-2", None, "ckpt-3"]
    assert manager.save(check_interval=False) is None  # this step has been saved
    step.assign_add(1)
    assert manager.save() is None
    assert manager.save(check_interval=False) == str(tmp_path / "ckpt-4")


def test_checkpoints_kept_for_good(tmp_path, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr("jittape.train.checkpoint_manager.time.time", lambda: clock[0])
    _, manager = managed(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1)
    for _ in range(5):
        clock[0] += 1500.0
        manager.save()
    assert last_parts(manager.checkpoints) == ["ckpt-5"]
    assert names(tmp_path) == ["checkpoint", "ckpt-3.npz", "ckpt-5.npz"]
    assert jt.train.get_checkpoint_state(tmp_path).last_preserved_timestamp == 5500.0


def test_initialization(tmp_path):
    v, manager = managed(tmp_path, max_to_keep=1, init_fn=lambda: v.assign(7))
    assert manager.restore_or_initialize() is None
    assert int(v) == 7
    manager.save()
    v.assign(0)
    manager.restore_or_initialize()
    assert int(v) == 7


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"max_to_keep": 0}, ValueError, "Expected a positive integer or `None` for `max_to_keep`, got 0."),
        ({"max_to_keep": 1, "checkpoint_interval": 2}, ValueError, "`step_counter` should be passed"),
        ({}, TypeError, "max_to_keep"),
    ],
)
def test_arguments_of_a_manager(tmp_path, options, kind, text):
    with pytest.raises(kind, match=text):
        managed(tmp_path, **options)
    with pytest.raises(TypeError, match=r"must be a jt\.train\.Checkpoint"):
        jt.train.CheckpointManager(3, tmp_path, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.save(3), r"\[save\] file_prefix must be a path.*got 3"),
        (lambda one: one.restore(3), r"\[restore\] .*must be a path.*got 3"),
        (lambda one: jt.train.load_checkpoint(3), r"\[load_checkpoint\] .*must be a path.*got 3"),
        (
            lambda one: jt.train.latest_checkpoint(None),
            r"\[latest_checkpoint\] checkpoint_dir must be a path",
        ),
        (
            lambda one: jt.train.CheckpointManager(one, None, 3),
            r"\[CheckpointManager\] directory must be a path",
        ),
        (
            lambda one: jt.train.CheckpointManager(one, "x", 3, checkpoint_name=3),
            "checkpoint_name must be a path",
        ),
        (lambda one: jt.train.CheckpointManager(one, "x", 3, "often"), "must be a number, got 'often'"),
        (
            lambda one: jt.train.CheckpointManager(one, "x", 3).save("a"),
            "checkpoint_number must be an int, got 'a'",
        ),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call(jt.train.Checkpoint(v=jt.Variable(1.0)))
