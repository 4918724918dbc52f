"""``keras.ops`` gives the values, shapes and dtypes of Keras 3; see `keras_ops_rows`."""

import json

import numpy as np
import pytest

import jittape as jt
from keras_ops_rows import ROWS, VALUES, X, called, plain
from processes import run_python

ops = jt.keras.ops
RECORDED = json.loads(VALUES.read_text(encoding="utf-8"))


def compare(found, expected):
    """Compare results as `plain` returns them."""
    if isinstance(expected, list) and len(expected) == 3 and isinstance(expected[0], str):
        assert found[:2] == expected[:2]
        np.testing.assert_allclose(found[2], expected[2], rtol=2e-5, atol=2e-6)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
    else:
        assert found == expected
        assert type(found) is type(expected)


def unsigned(parts):
    """Return results without their signs: those of eigenvectors are free."""
    return [[dtype, shape, np.abs(values).tolist()] for dtype, shape, values in parts]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda n: f"{ROWS[n][0]}-{n}")
def test_a_function_gives_the_values_of_keras(number):
    name, args, kwargs = ROWS[number]
    for _ in range(3):  # the interpreter, then compiled code
        found = plain(getattr(ops, name)(*args, **kwargs))
        compare(*[unsigned(x) if name in ("eigh", "qr") else x for x in (found, RECORDED["rows"][number])])


def test_functions_of_functions_give_the_values_of_keras():
    for _ in range(3):
        found = called(ops)
        for name, expected in RECORDED["called"].items():
            compare(plain(found[name]), expected)


def test_every_name_has_a_row():
    assert {row[0] for row in ROWS} | RECORDED["called"].keys() == set(dir(ops))


def test_symbolic_tensors_become_parts_of_a_functional_model():
    inputs = jt.keras.Input((3,))
    x = ops.concatenate([inputs, ops.exp(inputs) * 2.0], axis=-1)
    x = ops.add(1.0, ops.mean(ops.expand_dims(x, 1), axis=(1, 2), keepdims=True))
    outputs = ops.reshape(ops.multiply(x, inputs[:, None, :]), (-1, 3))
    model = jt.keras.Model(inputs, outputs)
    assert outputs.shape == (None, 3)
    expected = (1 + np.mean(np.concatenate([X, 2 * np.exp(X)], 1), 1, keepdims=True)) * X
    np.testing.assert_allclose(model(X).numpy(), expected, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="put the function in a layer"):
        model.to_json()


def test_gradients_flow_through_operations():
    x = jt.Variable(X)
    with jt.GradientTape() as tape:
        y = ops.sum(ops.softmax(ops.matmul(x, ops.transpose(x))) * ops.arange(2, dtype="float32"))
    assert np.abs(tape.gradient(y, x).numpy()).max() > 0.01


def test_operations_in_a_function_are_one_trace():
    f = jt.function(lambda x: ops.sum(ops.relu(x) / ops.sqrt(ops.shape(x)[-1])))
    for _ in range(3):
        np.testing.assert_allclose(f(X), np.maximum(X, 0).sum() / np.sqrt(3), rtol=1e-6)
    assert f.trace_count == 1


def test_operators_of_the_first_input_of_a_process():
    ran = run_python("-c", "import jittape as jt; print((jt.keras.Input((3,)) * 2).shape)")
    assert ran.stdout == "(None, 3)\n", ran.stderr


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ops.sum(X, 0, False, 1), r"\[sum\] takes the arguments x, axis, keepdims, got 4"),
        (lambda: ops.sum(X, dim=0), r"\[sum\] takes the arguments x, axis, keepdims, got 'dim'"),
        (lambda: ops.sum(X, 0, axis=0), r"\[sum\] takes the arguments .*, got 'axis'"),
        (lambda: ops.add(X), "x2|argument"),
    ],
)
def test_wrong_arguments_are_refused(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_a_name_that_is_missing_says_what_to_use():
    with pytest.raises(AttributeError, match=r"has no 'conv_transpose'; use jt\.nn\.conv_transpose"):
        ops.conv_transpose  # noqa: B018


def test_functions_have_a_second_name_in_the_modules_of_keras():
    for part, name in (("nn", "softmax"), ("numpy", "mean"), ("linalg", "norm")):
        assert getattr(getattr(ops, part), name) is getattr(ops, name)
