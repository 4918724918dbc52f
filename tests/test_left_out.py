"""Every public name of TensorFlow 2.21 exists in jittape or is left out for a reason that errors and the page tell."""

from __future__ import annotations

import json
import pickle
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import jittape as jt
from jittape.left_out import LEFT_OUT, left_out
from processes import run_python

HERE = Path(__file__).parent
NAMES = {
    module: names.split()
    for module, names in json.loads((HERE / "tensorflow_names.json").read_text()).items()
    if module != "data.Dataset"  # `test_data_specs` checks its methods
}
"""Public names of TensorFlow 2.21 by module, as ``dir`` lists them, without `errors`, `version` and `TensorShape`."""

PAGE = HERE.parent / "docs" / "coming-from" / "tensorflow.rst"


def found(path):
    """Return whether a dotted name below ``jt`` is public."""
    value = jt
    for part in path.split("."):
        if part not in dir(value):
            return False
        value = getattr(value, part)
    return True


PATHS = [f"{module}.{name}".lstrip(".") for module, names in NAMES.items() for name in names]
MISSING = [path for path in PATHS if not found(path)]


def test_every_name_exists_or_is_explained():
    assert [path for path in MISSING if left_out(path) is None] == []


def test_no_pattern_is_superfluous():
    patterns = [pattern for entry in LEFT_OUT for pattern in entry.names.split()]
    assert len(set(patterns)) == len(patterns)
    assert [p for p in patterns if not any(fnmatchcase(path, p) for path in MISSING)] == []
    assert [p for p in patterns if "*" not in p and found(p)] == []


@pytest.mark.parametrize("entry", LEFT_OUT, ids=lambda entry: entry.names.split()[0])
def test_what_is_named_instead_exists(entry):
    for path in re.findall(r"\bjt\.([\w.]+\w)", f"{entry.reason} {entry.instead}"):
        assert found(path), path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("log", "jittape has no 'log'; use jt.math.log"),
        ("Dense", "jittape has no 'Dense'; use jt.nn.Dense"),
        ("mse", "jittape has no 'mse'; use jt.keras.losses.mse"),
        ("math.reshape", "jittape.math has no 'reshape'; use jt.reshape"),
        ("reduce_summ", "jittape has no 'reduce_summ'; did you mean jt.reduce_sum?"),
        ("linalg.sovle", "jittape.linalg has no 'sovle'; did you mean jt.linalg.solve?"),
        ("keras.layers.Densse", "jittape.keras.layers has no 'Densse'; did you mean jt.keras.layers.Dense?"),
        (
            "keras.layers.ConvLSTM2D",
            "jittape.keras.layers has no 'ConvLSTM2D': this layer is missing; use jt.keras.layers.Layer with",
        ),
        ("keras.models.load_model", "jittape.keras.models has no 'load_model': models are not stored as one"),
        (
            "keras.backend.set_floatx",
            "jittape.keras.backend has no 'set_floatx'; use jt.config.default_float",
        ),
        ("keras.backend.mean", "jittape.keras.backend has no 'mean'; use jt.reduce_mean"),
        ("xyzzy", "jittape has no 'xyzzy'"),
        ("_private", "jittape has no '_private'"),
        (
            "keras.layers.GroupQueryAttention",
            "jittape.keras.layers has no 'GroupQueryAttention': this layer is missing; use",
        ),
        (
            "ragged",
            "jittape has no 'ragged': there are no ragged tensors: pad the rows; use jt.sequence_mask",
        ),
        ("strings", "jittape has no 'strings': there are no string tensors; use Python's str"),
        ("dtypes.string", "jittape.dtypes has no 'string': there are no string tensors; use Python's str"),
        ("config.experimental", "jittape.config has no 'experimental': jittape computes on the processor"),
        (
            "data.experimental",
            "jittape.data has no 'experimental': its parts have lasting names; use jt.data",
        ),
        ("optimizers.LossScaleOptimizer", "jittape.optimizers has no 'LossScaleOptimizer': every optimizer"),
        ("distribute", "jittape has no 'distribute': a program runs in one process; use jt.reduce_mean"),
    ],
)
def test_errors_name_the_nearest_thing(path, text):
    module, _, name = path.rpartition(".")
    owner = jt
    for part in filter(None, module.split(".")):
        owner = getattr(owner, part)
    with pytest.raises(AttributeError) as error:
        getattr(owner, name)
    assert str(error.value).startswith(text)


def rows():
    """Return the lines of the table on the page."""
    lines = []
    for entry in LEFT_OUT:
        names = ", ".join([f"``{name}``" for name in entry.names.split()])
        lines += [f"   * - {names}", f"     - {entry.reason}{entry.instead and f'; use {entry.instead}'}"]
    return lines


def test_the_page_lists_what_is_left_out():
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(r"^\.\. left out: begin$(.*?)^\.\. left out: end$", text, re.MULTILINE | re.DOTALL)[1]
    lines = block.replace("\n       ", " ").splitlines()
    assert [line for line in lines if line.startswith(("   * - ", "     - "))][2:] == rows()


OTHER_NAMES = {
    "losses.MSE": "keras.losses.mean_squared_error",
    "metrics.mse": "keras.losses.mean_squared_error",
    "initializers.glorot_uniform": "keras.initializers.GlorotUniform",
    "zeros_initializer": "keras.initializers.Zeros",
    "keras.layers.MaxPool2D": "keras.layers.MaxPooling2D",
    "keras.layers.Convolution2D": "keras.layers.Conv2D",
    "keras.regularizers.l2": "keras.regularizers.L2",
    "keras.models.Sequential": "keras.Sequential",
    "keras.Layer": "keras.layers.Layer",
    "keras.Variable": "Variable",
    "matrix_square_root": "linalg.sqrtm",
    "fftnd": "signal.fftnd",
    "nn.in_top_k": "math.in_top_k",
    "dtypes.cast": "cast",
    "dtypes.float32": "float32",
    "dtypes.bfloat16": "bfloat16",
    "autodiff.GradientTape": "GradientTape",
}


def value_of(path):
    value = jt
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_of_the_same(name):
    assert value_of(name) is value_of(OTHER_NAMES[name])
    module, _, last = name.rpartition(".")
    assert last in dir(value_of(module) if module else jt)


def test_the_list_is_read_when_the_text_of_an_error_is():
    """`hasattr`, pickle and imports of submodules would wait for the import of all of jittape."""
    done = run_python(
        "-c",
        "import sys, jittape as jt\n"
        "from jittape.dask import block_gradients\n"
        "print(hasattr(jt, 'ragged'), 'jittape.left_out' in sys.modules, 'jittape.plot' in sys.modules)\n"
        "try:\n    jt.ragged\nexcept AttributeError as error:\n"
        "    print(type(error).__name__, 'ragged' in str(error), 'jittape.left_out' in sys.modules)\n",
    )
    assert (done.stdout, done.stderr) == ("False False False\nAttributeError True True\n", "")


def test_errors_of_missing_names_can_be_sent():
    with pytest.raises(AttributeError) as error:
        _ = jt.ragged  # type: ignore[attr-defined]
    copied = pickle.loads(pickle.dumps(error.value))
    assert type(copied) is AttributeError
    assert str(copied) == str(error.value)


def test_devices():
    (cpu,) = jt.config.list_physical_devices()
    assert cpu == ("/physical_device:CPU:0", "CPU")
    assert jt.config.list_physical_devices("CPU") == [cpu]
    assert jt.config.list_physical_devices("GPU") == []
    assert jt.config.list_logical_devices()[0].name == "/device:CPU:0"


def test_traceback_filtering():
    jt.debugging.disable_traceback_filtering()
    assert (jt.config.full_tracebacks, jt.debugging.is_traceback_filtering_enabled()) == (True, False)
    jt.debugging.enable_traceback_filtering()
    assert (jt.config.full_tracebacks, jt.debugging.is_traceback_filtering_enabled()) == (False, True)


def test_one_seed_for_all_generators():
    import random

    import numpy as np

    def numbers():
        return random.random(), np.random.rand(), float(jt.random.normal([]))  # noqa: NPY002

    jt.keras.utils.set_random_seed(7)
    first = numbers()
    assert numbers() != first
    jt.keras.utils.set_random_seed(7)
    assert numbers() == first
    for seed in (-1, 2**32, 1.5, True, "1"):
        with pytest.raises(ValueError, match="to be an integer"):
            jt.keras.utils.set_random_seed(seed)


def test_classes_as_vectors():
    one_hot = jt.keras.utils.to_categorical
    assert one_hot([0, 2]).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert one_hot([[0], [1]], 2).shape == (2, 2)
    assert one_hot([[0, 1]], 3).shape == (1, 2, 3)
    assert one_hot([1], 4).dtype == "float64"
    with pytest.raises(ValueError, match="must be classes from 0 to 1, got 0 to 2"):
        one_hot([0, 2], 2)
    with pytest.raises(ValueError, match="got -1 to 1"):
        one_hot([-1, 1])


def test_settings_are_looked_up_without_a_function():
    # Python names the nearest setting itself. With `__getattr__`, a look-up takes 38 instead of 29 ns.
    assert not hasattr(type(jt.config), "__getattr__")
    with pytest.raises(AttributeError):
        _ = jt.config.default_flaot
    with pytest.raises(
        AttributeError, match=r"has no 'default_flaot'; did you mean jt\.config\.default_float"
    ):
        jt.config.default_flaot = "float64"
    with pytest.raises(AttributeError, match="no setter"):
        jt.config.native_supported = False


@pytest.mark.parametrize(
    ("holder", "name", "advice"),
    [
        (jt, "no_grad", "use tape.stop_recording()"),
        (jt, "placeholder", "operations need no session"),
        (jt, "get_variable", "use jt.Variable and jt.name_scope"),
        (jt, "reduce_avg", "use jt.reduce_mean"),
        (jt, "jit", "use jt.function"),
        (jt.linalg, "inverse", "use jt.linalg.inv"),
        (jt.plot, "graphs", "did you mean jt.plot.graph?"),
        (jt.constant(1.0), "detach", "use jt.stop_gradient"),
        (jt.Variable(1.0), "grad", "tape.gradient(loss, variables)"),
    ],
)
def test_names_of_other_libraries_are_explained(holder, name, advice):
    with pytest.raises(AttributeError, match=re.escape(advice)):
        getattr(holder, name)
    assert not hasattr(holder, name)
    assert name not in dir(holder)
