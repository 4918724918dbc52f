"""Convolutions and pooling against loops over windows in NumPy, and their gradients against differences."""

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.loop_kernel import LoopKernel
from programs import program_of
from window_reference import convolved, pooled

RNG = np.random.default_rng(0)
nn = jt.nn


def data(*shape):
    return RNG.normal(size=shape)


def to_first(x):
    return np.moveaxis(x, -1, 1)


# ---- convolutions ----------------------------------------------------------------------------------------------------

EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]
CASES = {
    "valid": ((2, 7, 6, 3), (3, 2, 3, 4), (1, 1), "VALID", None),
    "same": ((2, 7, 6, 3), (3, 2, 3, 4), (1, 1), "SAME", None),
    "same with strides": ((1, 7, 8, 2), (3, 3, 2, 2), (2, 3), "SAME", None),
    "explicit padding": ((2, 5, 4, 1), (3, 2, 1, 2), (2, 1), EXPLICIT, None),
    "dilations": ((1, 9, 8, 2), (3, 2, 2, 3), (1, 2), "SAME", (2, 3)),
    "one element": ((3, 4, 5, 2), (1, 1, 2, 6), (1, 1), "VALID", None),
    "one element with strides": ((3, 4, 5, 2), (1, 1, 2, 6), (2, 2), "SAME", None),
    "groups": ((2, 5, 4, 6), (2, 3, 2, 9), (1, 1), "SAME", None),
    "a group for each channel": ((2, 5, 4, 3), (2, 2, 1, 6), (2, 1), "VALID", None),
    "one window": ((2, 3, 2, 3), (3, 2, 3, 4), (1, 1), "VALID", None),
    "no images": ((0, 3, 4, 2), (2, 2, 2, 1), (1, 1), "SAME", None),
}


@pytest.fixture(params=CASES)
def case(request):
    x, w, strides, padding, dilations = CASES[request.param]
    return data(*x), data(*w), strides, padding, dilations


def test_conv2d(case):
    x, w, strides, padding, dilations = case
    expected = convolved(x, w, strides, padding, dilations)
    for function in (nn.conv2d, jt.function(nn.conv2d)):
        found = function(x, w, strides, padding, dilations=dilations)
        assert found.dtype == jt.float64
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-13, atol=1e-13)
    if padding != EXPLICIT:
        found = nn.conv2d(to_first(x), w, [1, 1, *strides], padding, "NCHW", dilations)
        np.testing.assert_allclose(found.numpy(), to_first(expected), rtol=1e-13, atol=1e-13)


def test_gradients_of_conv2d(case):
    x, w, strides, padding, dilations = case
    if x.size:
        jt.check_gradient(lambda x, w: jt.sin(nn.conv2d(x, w, strides, padding, dilations=dilations)), x, w)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("spatial", "extents"), [(1, (7,)), (3, (4, 5, 3))])
def test_one_and_three_dimensions(spatial, extents, padding):
    x, w = data(2, *extents, 2), data(*(2, 3, 2)[:spatial], 2, 3)
    function, letters = (nn.conv1d, "W") if spatial == 1 else (nn.conv3d, "DHW")
    expected = convolved(x, w, (2,) * spatial, padding)
    np.testing.assert_allclose(function(x, w, 2, padding).numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(nn.convolution(x, w, 2, padding).numpy(), expected, rtol=1e-13)
    first = function(to_first(x), w, 2, padding, f"NC{letters}")
    np.testing.assert_allclose(first.numpy(), to_first(expected), rtol=1e-13)
    jt.check_gradient(lambda x, w: jt.sin(function(x, w, 2, padding)), x, w)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex128"])
def test_dtypes(dtype):
    x, w = data(1, 5, 5, 2).astype(dtype), data(3, 3, 2, 2).astype(dtype)
    found = nn.conv2d(x, w, padding="SAME")
    assert found.dtype == dtype
    expected = convolved(x.astype("complex128"), w.astype("complex128"), (1, 1), "SAME")
    tolerance = {"float32": 1e-5, "float16": 2e-2, "complex128": 1e-13}[dtype]
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_second_derivatives():
    x, w = data(1, 4, 4, 1), data(2, 2, 1, 2)

    def f(w):
        return jt.reduce_sum(jt.sin(nn.conv2d(x, w, padding="SAME")))

    hessian = np.asarray(jt.hessian(f)(w)).reshape(8, 8)
    step = 1e-6
    for i in range(8):
        moved = np.zeros(8)
        moved[i] = step
        difference = jt.grad(f)(w + moved.reshape(w.shape)) - jt.grad(f)(w - moved.reshape(w.shape))
        np.testing.assert_allclose(hessian[i], np.asarray(difference).ravel() / (2 * step), atol=1e-7)


def test_forward_mode_agrees_with_reverse_mode():
    x, w, dx, dw, g = data(2, 5, 4, 2), data(3, 2, 2, 3), data(2, 5, 4, 2), data(3, 2, 2, 3), data(2, 5, 4, 3)

    def f(x, w):
        return nn.conv2d(x, w, padding="SAME")

    _, tangent = jt.jvp(f, (x, w), (dx, dw))
    _, pull = jt.vjp(f, x, w)
    cx, cw = pull(g)
    assert float(jt.reduce_sum(tangent * g)) == pytest.approx(
        float(jt.reduce_sum(cx * dx) + jt.reduce_sum(cw * dw))
    )


def test_a_stack_of_filters_by_vectorized_map():
    x, w = data(2, 5, 4, 2), data(3, 2, 2, 2, 3)
    found = jt.vectorized_map(lambda w: nn.conv2d(x, w), jt.constant(w))
    for i in range(3):
        np.testing.assert_allclose(found[i].numpy(), convolved(x, w[i], (1, 1)), rtol=1e-12)


def test_one_matrix_product_for_all_windows():
    """The padding, one loop that joins the taps, one product, and one loop for what follows."""
    x, w = data(8, 6, 6, 3).astype("float32"), data(3, 3, 3, 8).astype("float32")
    steps = schedule(program_of(lambda x, w: nn.relu(nn.conv2d(x, w, padding="SAME")), x, w)).steps
    assert [isinstance(step.kernel, Gemm) for step in steps] == [False, False, True, False]
    steps = schedule(program_of(lambda x, w: nn.relu(nn.depthwise_conv2d(x, w)), x, w[..., :1])).steps
    assert [isinstance(step.kernel, LoopKernel) for step in steps] == [True]


# ---- transposed ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("name", [name for name in CASES if "group" not in name and name != "no images"])
def test_a_transposed_convolution_is_the_gradient(name, first):
    shape, filters, strides, padding, dilations = CASES[name]
    if first and padding == EXPLICIT:
        padding = [EXPLICIT[0], EXPLICIT[3], *EXPLICIT[1:3]]
    w = data(*filters)
    options = (strides, padding, "NCHW" if first else "NHWC", dilations)
    x = to_first(data(*shape)) if first else data(*shape)
    out, pull = jt.vjp(lambda x: nn.conv2d(x, w, *options), x)
    g = data(*out.shape)
    found = nn.conv2d_transpose(g, w, x.shape, *options)
    np.testing.assert_allclose(found.numpy(), np.asarray(pull(jt.constant(g))[0]), rtol=1e-12, atol=1e-12)
    generic = nn.conv_transpose(g, w, x.shape, *options)
    np.testing.assert_array_equal(generic.numpy(), found.numpy())
    jt.check_gradient(lambda g, w: jt.sin(nn.conv2d_transpose(g, w, x.shape, *options)), g, w)


def test_transposed_in_one_and_three_dimensions():
    for function, transposed, shape, filters in (
        (nn.conv1d, nn.conv1d_transpose, (2, 7, 3), (3, 3, 2)),
        (nn.conv3d, nn.conv3d_transpose, (1, 4, 3, 5, 2), (2, 2, 3, 2, 4)),
    ):
        x, w = data(*shape), data(*filters)
        out, pull = jt.vjp(lambda x, f=function, w=w: f(x, w, 2, "SAME"), x)
        found = transposed(jt.ones_like(out), w, shape, 2)
        np.testing.assert_allclose(found.numpy(), np.asarray(pull(jt.ones_like(out))[0]), rtol=1e-12)


# ---- depthwise, separable --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiplier", [1, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_depthwise(multiplier, padding):
    x, w = data(2, 6, 5, 4), data(3, 2, 4, multiplier)
    expected = convolved(x, w.reshape(3, 2, 1, 4 * multiplier), (2, 1), padding)
    np.testing.assert_allclose(nn.depthwise_conv2d(x, w, [1, 2, 1, 1], padding).numpy(), expected, rtol=1e-12)
    first = nn.depthwise_conv2d(to_first(x), w, (2, 1), padding, "NCHW")
    np.testing.assert_allclose(first.numpy(), to_first(expected), rtol=1e-12)
    jt.check_gradient(lambda x, w: jt.sin(nn.depthwise_conv2d(x, w, (2, 1), padding)), x, w)
    point = data(1, 1, 4 * multiplier, 5)
    found = nn.separable_conv2d(x, w, point, (2, 1), padding)
    np.testing.assert_allclose(found.numpy(), expected @ point[0, 0], rtol=1e-12)


# ---- pooling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
@pytest.mark.parametrize(
    "padding", ["SAME", "VALID", [[0, 0], [1, 1], [0, 1], [0, 0]]], ids=["same", "valid", "explicit"]
)
@pytest.mark.parametrize(("size", "strides"), [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((4, 3), (2, 3))])
def test_pooling(kind, padding, size, strides):
    x = RNG.permutation(252).reshape(2, 7, 6, 3) / 30  # no element is nearly equal to another
    expected = pooled(x, kind, size, strides, padding)
    function = nn.max_pool2d if kind == "MAX" else nn.avg_pool2d
    generic = nn.max_pool if kind == "MAX" else nn.avg_pool
    for found in (function(x, size, strides, padding), generic(x, [1, *size, 1], strides, padding)):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
    jt.check_gradient(lambda x: jt.sin(function(x, size, strides, padding)), x)
    if isinstance(padding, str):
        first = function(to_first(x), size, strides, padding, "NCHW")
        np.testing.assert_allclose(first.numpy(), to_first(expected), rtol=1e-14)
        dilated = nn.pool(x, size, kind, 1, padding, dilations=(1, 2))
        np.testing.assert_allclose(
            dilated.numpy(), pooled(x, kind, size, (1, 1), padding, (1, 2)), rtol=1e-14
        )


def test_pooling_in_one_and_three_dimensions():
    for rank, (greatest, mean) in ((1, (nn.max_pool1d, nn.avg_pool1d)), (3, (nn.max_pool3d, nn.avg_pool3d))):
        x = data(2, *(5, 4, 6)[:rank], 2)
        for function, kind in ((greatest, "MAX"), (mean, "AVG")):
            found = function(x, 2, 2, "SAME")
            np.testing.assert_allclose(
                found.numpy(), pooled(x, kind, (2,) * rank, (2,) * rank, "SAME"), rtol=1e-14
            )


def test_the_first_of_equal_elements_gets_the_gradient():
    x = jt.constant(np.zeros((1, 2, 2, 1)))
    gradient = jt.grad(lambda x: jt.reduce_sum(nn.max_pool2d(x, 2, 2, "VALID")))(x)
    np.testing.assert_array_equal(gradient.numpy().ravel(), [1, 0, 0, 0])


def test_negative_elements_at_the_border():
    x = -np.ones((1, 3, 3, 1))
    np.testing.assert_array_equal(nn.max_pool2d(x, 2, 2, "SAME").numpy(), -np.ones((1, 2, 2, 1)))


# ---- bad input -------------------------------------------------------------------------------------------------------

X, W = np.ones((1, 4, 4, 2)), np.ones((3, 3, 2, 5))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nn.conv2d(X[0], W),
            ValueError,
            r"\[conv2d\] input must have 4 dimensions, got shape \(4, 4, 2\)",
        ),
        (lambda: nn.conv2d(X, W[0]), ValueError, "filters must have 4 dimensions"),
        (lambda: nn.conv2d(X, W[:, :, :0]), ValueError, "channels of the input, 2"),
        (
            lambda: nn.conv2d(X[..., :1], W),
            ValueError,
            "channels of the input, 1, must be those of the filters, 2",
        ),
        (lambda: nn.conv2d(X, W[:, :, :1]), ValueError, "divide the 5 filters"),
        (
            lambda: nn.conv2d(X, np.ones((6, 1, 2, 2))),
            ValueError,
            "window of 6 elements .* spatial dimension 0 of 4",
        ),
        (lambda: nn.conv2d(X, W, dilations=4), ValueError, "dilation 4 does not fit"),
        (
            lambda: nn.conv2d(X, W, 0),
            jt.errors.InvalidArgumentError,
            "strides must be ints of at least 1, got 0",
        ),
        (
            lambda: nn.conv2d(X, W, [2, 1, 1, 1]),
            jt.errors.InvalidArgumentError,
            "strides of the batch and of the channels must be 1",
        ),
        (lambda: nn.conv2d(X, W, [1, 1, 1]), ValueError, "strides must have 1, 2 or 4 entries"),
        (
            lambda: nn.conv2d(X, W, 1, "FULL"),
            jt.errors.InvalidArgumentError,
            "'SAME', 'VALID' or a list of pairs, got 'FULL'",
        ),
        (
            lambda: nn.conv2d(X, W, 1, [[1, 1], [1, 1]]),
            jt.errors.InvalidArgumentError,
            "pair of ints of at least 0 for each of the 4",
        ),
        (lambda: nn.conv2d(X, W, 1, [[1, 1]] * 4), ValueError, "the batch and the channels cannot be padded"),
        (
            lambda: nn.conv2d(X, W, 1, "SAME", "CHWN"),
            jt.errors.InvalidArgumentError,
            "data_format must be 'NHWC' or 'NCHW', got 'CHWN'",
        ),
        (lambda: nn.conv2d(X.astype(int), W.astype(int)), TypeError, r"\[conv2d\] is not defined for int64"),
        (
            lambda: nn.conv2d_transpose(X, W, [1, 8, 8, 3], 2),
            ValueError,
            "input has 2 channels, and the filters take 5",
        ),
        (
            lambda: nn.conv2d_transpose(X, W.swapaxes(2, 3), [1, 9, 9, 5], 2),
            ValueError,
            "output_shape .* does not fit",
        ),
        (lambda: nn.conv2d_transpose(X, W, [8, 8], 2), ValueError, "output_shape must have 4 entries"),
        (lambda: nn.depthwise_conv2d(X, np.ones((2, 2, 3, 1))), ValueError, "the input has 2 channels"),
        (lambda: nn.max_pool2d(X, 6, 1, "VALID"), ValueError, "window of 6 elements"),
        (lambda: nn.max_pool(X[0, 0], 2, 2, "VALID"), ValueError, "input must have 3 to 5 dimensions"),
        (lambda: nn.avg_pool2d(X.astype(int), 2, 2, "VALID"), TypeError, "not defined for int64"),
        (lambda: nn.pool(X, 2, "MEDIAN"), ValueError, "pooling_type must be 'MAX' or 'AVG', got 'MEDIAN'"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- windows that are larger than the array --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["plain", "function"])
@pytest.mark.parametrize(
    ("n", "window", "stride", "dilation"),
    [(3, 4, 1, 1), (3, 5, 2, 1), (3, 8, 3, 1), (4, 3, 1, 2), (0, 1, 1, 1), (5, 9, 1, 1), (3, 7, 2, 1)],
)
def test_a_window_that_is_larger_by_less_than_two_strides_gives_an_empty_result(
    n: int, window: int, stride: int, dilation: int, form: str
) -> None:
    """The same as TensorFlow 2.21, which rounds the number of windows toward zero and refuses a negative one."""
    missing = (window - 1) * dilation + 1 - n
    x, w = jt.Variable(np.ones((2, n, 3, 4))), jt.Variable(np.ones((window, 2, 4, 5)))
    options = {"padding": "VALID", "dilations": [dilation, 1]}
    calls = {
        "conv2d": (lambda: nn.conv2d(x, w, [stride, 1], **options), [x, w], 5),
        "depthwise": (
            lambda: nn.depthwise_conv2d(x, w[..., :1], [1, stride, stride, 1], "VALID", None, [dilation, 1]),
            [x, w],
            4,
        ),
        "max": (lambda: nn.pool(x, [window, 2], "MAX", [stride, 1], **options), [x], 4),
        "avg": (lambda: nn.pool(x, [window, 2], "AVG", [stride, 1], **options), [x], 4),
    }
    for name, (call, sources, channels) in calls.items():

        def step(call=call, sources=sources):
            with jt.GradientTape() as tape:
                result = call()
                loss = jt.reduce_sum(result) + 1.0
            return result, loss, *tape.gradient(loss, sources)

        step = jt.function(step) if form == "function" else step
        if missing >= 2 * stride:
            with pytest.raises(jt.errors.InvalidArgumentError, match="does not fit into spatial dimension 0"):
                step()
            continue
        for _ in range(3):
            result, loss, *gradients = step()
            assert result.shape == (
                2,
                0,
                1 if name == "depthwise" and stride > 2 else result.shape[2],
                channels,
            )
            assert float(loss) == 1.0
            for source, gradient in zip(sources, gradients, strict=True):
                np.testing.assert_array_equal(gradient.numpy(), np.zeros(source.shape))


@pytest.mark.parametrize("form", ["plain", "function"])
def test_lengths_on_both_sides_of_the_window(form: str) -> None:
    w = data(4, 2, 3).astype(np.float32)

    def step(x):
        return nn.conv1d(x, w, 1, "VALID"), nn.max_pool1d(x, 4, 1, "VALID")

    call = jt.function(step, input_signature=[jt.TensorSpec([1, None, 2])]) if form == "function" else step
    for n in (9, 12, 15, 3, 4, 20, 3, 5, 8):
        x = data(1, n, 2).astype(np.float32)
        found, greatest = call(jt.constant(x))
        assert found.shape == (1, n - 3, 3)
        assert greatest.shape == (1, n - 3, 2)
        np.testing.assert_allclose(found, convolved(x, w, (1,)), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(greatest, pooled(x, "MAX", (4,), (1,), "VALID"))


def test_a_convolutional_layer_refuses_a_window_that_is_larger_than_its_input() -> None:
    """As Keras does, whose pooling layers give a result without elements."""
    x = np.ones((2, 3, 5, 4), np.float32)
    for layer in (
        jt.keras.layers.Conv2D(2, 4),
        jt.keras.layers.DepthwiseConv2D(4),
        jt.keras.layers.SeparableConv2D(2, 4),
    ):
        with pytest.raises(ValueError, match="window of 4 elements"):
            layer(x)
    assert jt.keras.layers.MaxPooling2D(5)(x).shape == (2, 0, 1, 4)
    assert jt.keras.layers.AveragePooling1D(5)(x[0]).shape == (3, 1, 4)
