"""Files of weights: what is written is read again, and whatever is wrong with a file harms nothing."""

from __future__ import annotations

import builtins
import io
import os
import pickle
import stat
import sys
import warnings
import zipfile
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

import jittape as jt
from jittape import weights
from jittape.module import _named
from processes import run_python

SUFFIXES = ["npz", "safetensors"]
formats = pytest.mark.parametrize("suffix", SUFFIXES)
Pair = namedtuple("Pair", "first second")


def network(units=4, dtype=None, seed=0):
    jt.random.set_seed(seed)
    hidden = jt.nn.Dense(units, "tanh", input_dim=3, dtype=dtype)
    return jt.nn.Sequential([hidden, jt.nn.Dense(1, input_dim=units)], name="net")


def values(module):
    return [v.numpy() for v in module.variables]


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b, strict=True)


def names_in(path):
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return list(file)
    return list(safetensors.numpy.load_file(path))


def write(path, arrays):
    """A file from elsewhere."""
    if path.suffix == ".npz":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, np.asarray(array))
    else:
        safetensors.numpy.save_file(arrays, path)
    return path


# ---- there and back --------------------------------------------------------------------------------------------------


@formats
def test_a_network(tmp_path, suffix):
    net, other = network(), network(seed=1)
    path = tmp_path / f"net.{suffix}"
    net.save_weights(path)
    other.load_weights(str(path))
    assert_same(values(other), values(net))
    assert sorted(names_in(path)) == [
        "layers.0.bias", "layers.0.kernel", "layers.1.bias", "layers.1.kernel",
    ]  # fmt: skip
    assert os.listdir(tmp_path) == [path.name], "nothing else is left"


class Everything(jt.Module):
    def __init__(self, fill):
        super().__init__()
        dtypes = [
            "float16",
            "float32",
            "float64",
            "complex64",
            "int8",
            "uint16",
            "int32",
            "int64",
            "uint64",
            "bool",
        ]
        self.by_dtype = {d: jt.Variable(np.full((2, 3), fill, d), trainable=False) for d in dtypes}
        self.scalar = jt.Variable(float(fill))
        self.empty = jt.Variable(np.zeros((0, 4)))
        self.frozen = jt.Variable(fill, trainable=False)
        self.pair = Pair(jt.Variable(float(fill)), [jt.Variable(fill), {"deep": (jt.Variable(fill),)}])
        self.odd = {3: jt.Variable(fill), "a/b .ü": jt.Variable(fill), "file": jt.Variable(fill)}
        self.odd |= {"..": jt.Variable(fill), "": jt.Variable(fill)}
        self.tied = self.scalar


@formats
def test_all_dtypes_shapes_and_containers(tmp_path, suffix):
    path = tmp_path / f"everything.{suffix}"
    module, other = Everything(1), Everything(0)
    module.save_weights(path)
    other.load_weights(path)
    assert_same(values(other), values(module))
    names = names_in(path)
    assert len(names) == len(module.variables)
    for name in (
        "by_dtype.bool",
        "scalar",
        "frozen",
        "pair.0",
        "pair.1.0",
        "pair.1.1.deep.0",
        "odd.3",
        "odd.file",
    ):
        assert name in names
    assert "tied" not in names


def test_names_are_the_same_in_every_run_and_follow_the_variables():
    module = Everything(1)
    named = _named(module)
    assert [id(v) for v in named.values()] == [id(v) for v in module.variables]
    assert list(named) == list(_named(Everything(2)))


def test_a_ring_of_modules(tmp_path):
    one, other = jt.Module(), jt.Module()
    one.next, other.next, other.v = other, one, jt.Variable(1.0)
    one.save_weights(tmp_path / "ring.npz")
    assert names_in(tmp_path / "ring.npz") == ["next.v"]


def test_two_weights_of_one_name(tmp_path):
    module = jt.Module("mine")
    module.table = {1: jt.Variable(1.0), "1": jt.Variable(2.0)}
    with pytest.raises(ValueError, match="two Variables of 'mine' go by the name 'table.1'"):
        module.save_weights(tmp_path / "w.npz")
    assert not os.listdir(tmp_path)


@formats
def test_what_is_pending_is_computed(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    net, other = network(), network(seed=1)
    kernel = net.layers[0].kernel
    before = kernel.numpy()
    kernel.assign_add(kernel)
    net.save_weights(path)
    other.layers[0].kernel.assign_add(other.layers[0].kernel)  # pending, and forgotten
    other.load_weights(path)
    assert_same(values(other), values(net))
    np.testing.assert_array_equal(kernel.numpy(), 2 * before)


@formats
def test_loaded_weights_are_trained_and_the_file_is_let_go(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    net = network()
    net.save_weights(path)
    wanted = values(net)
    net.load_weights(path)
    path.write_bytes(b"overwritten")
    step = jt.function(lambda: [v.assign_add(v) for v in net.variables] and None)
    for _ in range(3):
        step()
    assert_same(values(net), [8 * w for w in wanted])


def test_numpy_reads_and_writes_the_same(tmp_path):
    net, other = network(), network(seed=1)
    net.save_weights(tmp_path / "ours.npz")
    with np.load(tmp_path / "ours.npz", allow_pickle=False) as file:
        arrays = dict(file)
    for save in (np.savez, np.savez_compressed):
        swapped = {n: np.asfortranarray(a).astype(">f4") for n, a in arrays.items()}
        save(tmp_path / "theirs.npz", **swapped)
        for v in other.variables:
            v.assign(v * 0.0)
        other.load_weights(tmp_path / "theirs.npz")
        assert_same(values(other), values(net))


def test_the_same_weights_are_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        network().save_weights(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@formats
def test_another_process(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    net = network()
    net.save_weights(path)
    done = run_python(
        "-c",
        "import sys, jittape as jt\n"
        "net = jt.nn.Sequential([jt.nn.Dense(4, 'tanh', input_dim=3), jt.nn.Dense(1, input_dim=4)])\n"
        "net.load_weights(sys.argv[1])\n"
        "print([v.numpy().tobytes().hex() for v in net.variables])",
        str(path),
    )
    assert done.stdout.strip() == str([v.tobytes().hex() for v in values(net)])


# ---- files that do not fit -------------------------------------------------------------------------------------------


def refused(path, net=None, match=".", kind=jt.WeightsError):
    """The message of the error; nothing has changed, and what is pending is still to come."""
    net = network() if net is None else net
    before = values(net)
    net.variables[0].assign_add(net.variables[0])
    with pytest.raises(kind, match=match) as caught:
        net.load_weights(path)
    assert_same(values(net), [2 * before[0], *before[1:]])
    assert str(path) in str(caught.value)
    return str(caught.value)


@formats
def test_other_shapes_and_dtypes(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    network(5, "float64").save_weights(path)
    text = refused(path, match="does not fit 'net', nothing was loaded")
    assert "'layers.0.kernel' has shape (3, 5) in the file, but (3, 4) in 'net'" in text
    assert "Build it with the sizes" in text
    network(4, "float64").save_weights(path)
    assert "'layers.0.bias' is float64 in the file, but float32 in 'net'" in refused(path)


@formats
def test_missing_and_extra_weights(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    network().layers[0].save_weights(path)
    text = refused(path)
    assert "'layers.1.kernel' (float32[4,1]) is missing in the file" in text
    assert "'kernel' (float32[3,4]) is in the file, but not in 'net'" in text
    network().save_weights(path)
    unbuilt = jt.Module(name="net")
    unbuilt.layers = [network().layers[0], jt.nn.Dense(1)]
    text = refused(path, unbuilt)
    assert "'layers.1.bias' (float32[1]) is in the file" in text
    assert "at the first call, or when they are given input_dim" in text


@formats
def test_one_weight_of_many(tmp_path, suffix):
    """The last one does not fit: the first are not loaded either."""
    path = tmp_path / f"w.{suffix}"
    net = network(seed=1)
    net.layers[1].bias = jt.Variable([1.0, 2.0])
    net.save_weights(path)
    assert len(refused(path).splitlines()) == 3


def test_many_do_not_fit(tmp_path):
    one, other = jt.Module(), jt.Module("other")
    one.vs = [jt.Variable(1.0) for _ in range(100)]
    other.vs = [jt.Variable([1.0]) for _ in range(100)]
    one.save_weights(tmp_path / "w.npz")
    text = refused(tmp_path / "w.npz", other)
    assert "... and 92 more" in text
    assert len(text.splitlines()) == 11


@formats
@pytest.mark.parametrize("length", [0, 1, 4, 7, 50, 200, -1, -10, -40, -200])
def test_a_file_that_is_cut_off(tmp_path, suffix, length):
    path = tmp_path / f"w.{suffix}"
    network(seed=1).save_weights(path)
    path.write_bytes(path.read_bytes()[:length])
    assert "nothing was loaded" in refused(path)


@formats
@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04N.", b"PK\x03\x04", b"{}" * 50, bytes(200)])
def test_something_else(tmp_path, suffix, content):
    path = tmp_path / f"w.{suffix}"
    path.write_bytes(content)
    assert "nothing was loaded" in refused(path)


def test_what_is_found_is_said(tmp_path):
    path = tmp_path / "w.npz"
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    assert "single array as numpy.save writes it" in refused(path)
    path.write_bytes(pickle.dumps([1]))
    assert "not an .npz file: it begins with b'\\x80" in refused(path)
    path.write_bytes(b"")
    assert "is empty" in refused(path)


def loaded(path, net):
    """Whether `net` takes the file; if not, nothing has changed."""
    before = values(net)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            net.load_weights(path)
    except jt.WeightsError as refusal:
        text = str(refusal)
    else:
        return True
    assert str(path) in text
    assert_same(values(net), before)
    return False


@given(st.data())
def test_flipped_bits_of_an_npz_file(tmp_path_factory, data):
    """The file is refused, or it does not matter: never other numbers, never another error."""
    path = tmp_path_factory.mktemp("flipped") / "w.npz"
    good, net = network(seed=1), network()
    good.save_weights(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    if loaded(path, net):
        assert_same(values(net), values(good))


@given(st.data())
def test_flipped_bits_in_the_head_of_a_safetensors_file(tmp_path_factory, data):
    """The format has no checksum; what fits is taken."""
    path = tmp_path_factory.mktemp("flipped") / "w.safetensors"
    network(seed=1).save_weights(path)
    content = bytearray(path.read_bytes())
    head = 8 + int.from_bytes(content[:8], "little")
    content[data.draw(st.integers(0, head - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    loaded(path, network())


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle of a file of weights was run",)


def test_pickled_objects_are_not_loaded(tmp_path):
    net = network()
    arrays = {"layers.0.kernel": np.array([[Bomb()] * 4] * 3), "layers.0.bias": np.zeros(4, np.float32)}
    np.savez(tmp_path / "w.npz", **arrays)
    text = refused(tmp_path / "w.npz", net, match="pickled Python objects, at 'layers.0.kernel.npy'")
    assert "never loaded" in text


def test_arrays_of_other_things(tmp_path):
    names = ["layers.0.kernel", "layers.0.bias", "layers.1.kernel", "layers.1.bias"]
    shapes = [v.shape for v in network().variables]
    path = tmp_path / "w.npz"
    for dtype in ("U3", "datetime64[s]", "longdouble", [("a", "f4")]):
        np.savez(path, **{n: np.zeros(s, dtype) for n, s in zip(names, shapes, strict=True)})
        assert "'layers.1.bias' is" in refused(path)


def test_a_header_that_promises_too_much(tmp_path):
    """A shape of terabytes in a small file is no reason to ask for terabytes."""
    module = jt.Module()
    module.w = jt.Variable(np.zeros((2, 2)))
    path = tmp_path / "w.npz"

    def with_header(shape, size):
        member = io.BytesIO()
        np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": shape})
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("w.npy", member.getvalue() + bytes(size))

    with_header((10**7, 10**7), 8)
    refused(path, module, match="has shape .10000000, 10000000. in the file")
    for size in (31, 33, 0):
        with_header((2, 2), size)
        refused(path, module, match=f"damaged or incomplete, at 'w.npy' .{size} bytes for float64.2,2.")


@given(st.data())
def test_a_header_with_other_characters(tmp_path_factory, data):
    """It is a Python literal, which Python's own parser reads; here under a checksum that is right."""
    path = tmp_path_factory.mktemp("header") / "w.npz"
    module = jt.Module()
    module.w = jt.Variable(np.zeros((2, 2)))
    packed = io.BytesIO()
    np.lib.format.write_array(packed, np.ones((2, 2)))
    content = bytearray(packed.getvalue())
    for _ in range(data.draw(st.integers(1, 2))):
        content[data.draw(st.integers(0, 70))] = data.draw(st.sampled_from(b"()[]{}'\"L1: ,\\\n\t\0\xff#"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", bytes(content))
    loaded(path, module)


def test_other_members_of_the_archive(tmp_path):
    path = tmp_path / "w.npz"
    network().save_weights(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readme.txt", "hello")
    refused(path, match="at 'readme.txt' .it is no array, or there twice")
    network().save_weights(path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("layers.0.bias.npy", "hello")
    refused(path, match="no array, or there twice")


def test_bfloat16(tmp_path):
    path = tmp_path / "w.safetensors"
    header = b'{"v":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    module = jt.Module()
    module.v = jt.Variable([1.0, 2.0])
    refused(path, module, match="'v' is bfloat16 in the file, but float32")


# ---- files and folders -----------------------------------------------------------------------------------------------


@formats
def test_no_file_and_folders(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    refused(path, kind=FileNotFoundError)
    path.mkdir()
    refused(path, kind=IsADirectoryError, match="this is a folder")
    with pytest.raises(OSError, match="weights cannot be saved") as caught:
        network().save_weights(path)
    assert caught.value.filename == str(path)
    nowhere = tmp_path / "nowhere" / path.name
    with pytest.raises(FileNotFoundError, match="weights cannot be saved: No such file"):
        network().save_weights(nowhere)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", ["w", "w.h5", "w.npy", "npz", ".npz"])
def test_other_names(tmp_path, name):
    path = tmp_path / name
    refused(path, match="a file of weights ends in .npz or .safetensors")
    with pytest.raises(jt.WeightsError, match="ends in .npz or .safetensors, got"):
        network().save_weights(path)
    assert not os.listdir(tmp_path)


def test_nothing_to_save(tmp_path):
    with pytest.raises(jt.WeightsError, match="'mine' has no weights to save .*first call.*input_dim"):
        jt.nn.Dense(3, name="mine").save_weights(tmp_path / "w.npz")


def test_a_dtype_that_safetensors_has_not(tmp_path):
    module = jt.Module()
    module.v, module.w = jt.Variable(1.0), jt.Variable(1j)
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"before")
    with pytest.raises(jt.WeightsError, match="has no complex128, the dtype of 'w'; use an .npz file"):
        module.save_weights(path)
    assert path.read_bytes() == b"before"
    module.save_weights(tmp_path / "w.npz")


def test_without_the_package(tmp_path, monkeypatch):
    path = tmp_path / "w.safetensors"
    network().save_weights(path)
    before = path.read_bytes()
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "safetensors":
            raise ModuleNotFoundError("No module named 'safetensors'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    refused(
        path, kind=ImportError, match=r"not installed: pip install 'jittape\[safetensors\]', or use an .npz"
    )
    with pytest.raises(ImportError, match="use an .npz file"):
        network().save_weights(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


# ---- writing is all or nothing ---------------------------------------------------------------------------------------


class Full(io.FileIO):
    """A disk that is full after some bytes."""

    room = 600

    def write(self, data):
        if self.tell() + len(data) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(data)


@formats
@pytest.mark.parametrize("when", ["open", "write", "fsync", "replace", "interrupt"])
def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch, suffix, when):
    path = tmp_path / f"w.{suffix}"
    network().save_weights(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise KeyboardInterrupt if when == "interrupt" else OSError(28, "No space left on device")

    if when == "open":
        monkeypatch.setattr(weights, "open", fail, raising=False)
    elif when == "write":
        monkeypatch.setattr(weights, "open", lambda name, mode: Full(name, mode), raising=False)
    else:
        monkeypatch.setattr(weights.os, "fsync" if when in ("fsync", "interrupt") else "replace", fail)
    other = network(40, seed=1)
    if when == "interrupt":
        with pytest.raises(KeyboardInterrupt):
            other.save_weights(path)
    else:
        with pytest.raises(OSError, match="weights cannot be saved: No space left") as caught:
            other.save_weights(path)
        assert caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
    other.save_weights(path)
    assert path.read_bytes() != before


@formats
def test_a_killed_writer_leaves_the_old_file(tmp_path, suffix):
    path = tmp_path / f"w.{suffix}"
    network().save_weights(path)
    before = path.read_bytes()
    done = run_python(
        "-c",
        "import os, sys, jittape as jt\n"
        "os.fsync = lambda file: os._exit(9)\n"
        "jt.nn.Dense(50, input_dim=50).save_weights(sys.argv[1])",
        str(path),
    )
    assert done.returncode == 9
    assert path.read_bytes() == before
    network().load_weights(path)


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_links_and_modes(tmp_path):
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    link.symlink_to(real.name)
    network().save_weights(link)
    assert link.is_symlink()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~umask
    network().load_weights(link)


def test_a_path_relative_to_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network().save_weights("w.npz")
    network().load_weights(Path("w.npz"))


# ---- optimizers ------------------------------------------------------------------------------------------------------

MAKERS = [jt.optimizers.Adam, lambda: jt.optimizers.SGD(0.1, 0.9), lambda: jt.optimizers.SGD(0.1)]
X = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)


def trained(net, optimizer, count=3):
    for _ in range(count):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(net(X) - 1.0))
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return values(net)


@formats
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("stepped", [False, True])
def test_training_goes_on(tmp_path, suffix, make, stepped):
    net, optimizer = network(), make()
    trained(net, optimizer)
    net.save_weights(tmp_path / f"net.{suffix}")
    optimizer.save_weights(tmp_path / f"optimizer.{suffix}")
    other, later = network(seed=1), make()
    if stepped:
        trained(other, later, 1)
    other.load_weights(tmp_path / f"net.{suffix}")
    later.load_weights(tmp_path / f"optimizer.{suffix}", other.trainable_variables)
    assert int(later.iterations) == 3
    assert_same(trained(other, later), trained(net, optimizer))


def test_names_of_an_optimizers_state(tmp_path):
    net, optimizer = network(), jt.optimizers.SGD(0.1, 0.9, name="mine")
    trained(net, optimizer)
    optimizer.save_weights(tmp_path / "w.npz")
    momenta = [f"{i}.momentum" for i in range(2, 6)]
    assert names_in(tmp_path / "w.npz") == ["0.iterations", "1.learning_rate", *momenta]


def test_a_state_that_does_not_fit(tmp_path):
    net, optimizer, path = network(), jt.optimizers.Adam(), tmp_path / "w.npz"
    trained(net, optimizer)
    optimizer.save_weights(path)
    wrong = [
        (jt.optimizers.Adam(), []),
        (jt.optimizers.Adam(), net.trainable_variables[::-1]),
        (jt.optimizers.SGD(momentum=0.5), net.trainable_variables),
        (jt.optimizers.Adam(), [*net.trainable_variables, jt.Variable(1.0)]),
    ]
    for other, variables in wrong:
        with pytest.raises(
            jt.WeightsError, match="the optimizer '(adam|sgd)(_[0-9]+)?'.*nothing was loaded"
        ) as caught:
            other.load_weights(path, variables)
        assert "in the order in which" in str(caught.value)
        assert len(other.variables) == 2, "no state was made for them"
        assert int(other.iterations) == 0
    adam = wrong[0][0]
    adam.load_weights(path, net.trainable_variables)
    assert int(adam.iterations) == 3
    path.write_bytes(path.read_bytes()[:-20])
    state = [v.numpy() for v in adam.variables]
    with pytest.raises(jt.WeightsError, match="damaged or incomplete"):
        adam.load_weights(path, [jt.Variable(1.0)])
    assert_same([v.numpy() for v in adam.variables], state)
