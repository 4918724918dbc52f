"""`EinsumDense` and `Dot`: values of NumPy, weights of the shapes that Keras gives them, errors."""

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("equation", "output_shape", "bias_axes", "shape", "kernel", "bias"),
    [
        ("ab,bc->ac", 6, "c", (3, 4), (4, 6), (6,)),
        ("abc,cd->abd", (None, 6), "d", (2, 5, 4), (4, 6), (6,)),
        ("...x,xy->...y", 6, "y", (2, 5, 3, 4), (4, 6), (6,)),
        ("ab...,bc->ac...", 4, "c", (2, 3, 5, 6), (3, 4), (4, 1, 1)),
        ("abc,cde->abde", (5, 2, 3), "de", (2, 5, 4), (4, 2, 3), (2, 3)),
        ("abc,cde->abde", (None, 2, 3), "d", (2, 5, 4), (4, 2, 3), (2, 1)),
        ("abc,bce->ae", (6,), None, (2, 3, 4), (3, 4, 6), None),
        ("...ab,b->...a", (None, 3), None, (2, 3, 4), (4,), None),
    ],
)
def test_einsum_dense(equation, output_shape, bias_axes, shape, kernel, bias):
    layer = layers.EinsumDense(equation, output_shape, activation="tanh", bias_axes=bias_axes)
    x = RNG.normal(size=shape).astype("float32")
    layer(x)
    assert [tuple(w.shape) for w in layer.weights] == [kernel] + ([bias] if bias else [])
    layer.set_weights([RNG.normal(size=w.shape) for w in layer.get_weights()])
    weights = layer.get_weights()
    expected = np.tanh(np.einsum(equation, x, weights[0]) + (weights[1] if bias else 0))
    np.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-5)
    again = layers.EinsumDense.from_config(layer.get_config())
    again.build(shape)
    again.set_weights(weights)
    np.testing.assert_array_equal(again(x), layer(x))


def test_a_step_of_einsum_dense_learns():
    x = RNG.normal(size=(8, 5, 4)).astype("float32")
    model = keras.Sequential([layers.Input((5, 4)), layers.EinsumDense("abc,cd->abd", (5, 2), bias_axes="d")])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    y = x[..., :2] + 1
    losses = model.fit(x, y, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ab,bc", 3), "must have the form"),
        (("ab...,bc->...ac", 3), "must have the form"),
        (("ab,bc->ac", 3, None, "x"), "bias_axes 'x' must be labels"),
        (("abc,cd->abd", (7, 3)), "b is 2 in the inputs"),
        (("abc,cd->ad", (None,)), "tell d"),
        (("ab,bc->ac", 3), "ab does not fit the shape"),
    ],
)
def test_einsum_dense_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        layers.EinsumDense(*arguments)(jt.ones([3, 2, 4]))


@pytest.mark.parametrize(
    ("first", "second", "axes", "equation"),
    [
        ((2, 3), (2, 3), 1, "ab,ab->a"),
        ((2, 3, 4), (2, 5, 4), -1, "abc,adc->abd"),
        ((2, 3, 4), (2, 4, 5), (2, 1), "abc,acd->abd"),
        ((2, 3, 4), (2, 3), 1, "abc,ab->ac"),
        ((2, 3, 4, 5), (2, 5, 3), (3, 1), "abcd,ade->abce"),
    ],
)
@pytest.mark.parametrize("normalize", [False, True])
def test_dot(first, second, axes, equation, normalize):
    x, y = RNG.normal(size=first).astype("float32"), RNG.normal(size=second).astype("float32")
    u, v = x, y
    if normalize:
        one, other = axes if isinstance(axes, tuple) else (axes, axes)
        u = x / np.linalg.norm(x, axis=one, keepdims=True)
        v = y / np.linalg.norm(y, axis=other, keepdims=True)
    expected = np.einsum(equation, u, v)
    found = layers.Dot(axes, normalize=normalize)([x, y])
    np.testing.assert_allclose(
        found, expected if expected.ndim > 1 else expected[:, None], rtol=1e-5, atol=1e-5
    )


def test_dot_in_graphs_and_its_errors():
    u, v = layers.Input((3,)), layers.Input((3,))
    model = keras.Model([u, v], layers.dot([u, v], axes=1))
    assert model.output_shape == (None, 1)
    assert keras.Model.from_config(model.get_config())(
        [jt.ones([2, 3]), jt.ones([2, 3])]
    ).numpy().tolist() == [[3], [3]]
    with pytest.raises(TypeError, match="axes must be an int"):
        layers.Dot("x")
    for axes in (0, 2, (1, 3)):
        with pytest.raises(ValueError, match="axis 0 is the batch"):
            layers.Dot(axes)([jt.ones([2, 3]), jt.ones([2, 3])])
    with pytest.raises(ValueError, match="takes a list of two inputs"):
        layers.Dot(1)(jt.ones([2, 3]))
    with pytest.raises(ValueError, match="3.*4"):
        layers.Dot(1)([jt.ones([2, 3]), jt.ones([2, 4])])
