"""Corners of the guide's pages on tapes and functions."""

import numpy as np

X = np.random.default_rng(7).normal(size=(6, 3))
W = np.random.default_rng(8).normal(size=(3, 2))


def make_dense(tf, units, **options):
    return tf.keras.layers.Dense(units, dtype="float64", kernel_initializer="ones", **options)


# ---- tapes -----------------------------------------------------------------------------------------------------------


def recording_stops_within_a_persistent_tape(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x**2
        with tape.stop_recording():
            inside = tape.gradient(y, x)
            hidden = y * x
        z = y * 3.0 + hidden
    return inside, tape.gradient(z, x), tape.gradient(hidden, x)


def a_tape_is_reset_when_a_step_is_repeated(tf):
    x = tf.Variable(1.5)
    losses = []
    with tf.GradientTape() as tape:
        for _ in range(3):
            loss = tf.sin(x) * x
            losses.append(loss)
            if len(losses) < 3:
                tape.reset()
    return tape.gradient(losses, x), losses


def zeros_for_all_that_is_unconnected(tf):
    x, y = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
    unused = tf.constant([4, 5])
    with tf.GradientTape(persistent=True) as tape:
        z = tf.reduce_sum(x * x)
    by_name = tape.gradient(z, {"x": x, "y": y}, unconnected_gradients="zero")
    by_value = tape.gradient(z, [x, y], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    rows = tape.jacobian(x * 1.0, y)
    return by_name["x"], by_name["y"], by_value, rows, unused


def upstream_gradients_of_several_targets(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, tf.exp(x)
    return tape.gradient(
        [y, z], x, output_gradients=[tf.constant([1.0, 0.0, 2.0]), tf.constant([0.0, 1.0, 0.0])]
    )


def jacobians_of_the_weights_of_a_model(tf):
    model = tf.keras.Sequential([make_dense(tf, 4, activation="tanh"), make_dense(tf, 2)])
    x = tf.constant(X)
    model(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = model(x)
    jacobians = tape.jacobian(y, model.trainable_variables)
    rows = tape.batch_jacobian(y, x)
    full = tape.jacobian(y, x)
    return jacobians, rows, tf.reduce_sum(full, 2), [tuple(j.shape) for j in jacobians]


def a_batch_jacobian_of_unconnected_rows(tf):
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(x, 1, keepdims=True) + tf.constant(1.0, tf.float64)
    return tape.batch_jacobian(y, x), tape.jacobian(y, x, experimental_use_pfor=False)


def a_hessian_vector_product_with_two_tapes(tf):
    w = tf.Variable(W)
    v = tf.constant(W[::-1].copy())
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(tf.nn.softplus(tf.constant(X) @ w) ** 2)
        gradient = inner.gradient(loss, w)
        product = tf.reduce_sum(gradient * v)
    return gradient, outer.gradient(product, w)


def a_gradient_through_a_while_loop(tf):
    @tf.function
    def power(x, n):
        _, result = tf.while_loop(
            lambda i, p: i < n, lambda i, p: (i + 1, p * x), [tf.constant(0), tf.constant(1.0)]
        )
        return result

    x = tf.Variable(1.5)
    found = []
    for n in (0, 1, 5):
        with tf.GradientTape() as tape:
            y = power(x, tf.constant(n))
        found.append([y, tape.gradient(y, x, unconnected_gradients="zero")])
    return found


def a_while_loop_with_second_derivatives(tf):
    x = tf.constant([0.5, 1.5], tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            _, y = tf.while_loop(
                lambda i, s: tf.reduce_all(i < 4),
                lambda i, s: (i + 1, tf.sin(s) + x),
                (tf.constant(0), x * 0.1),
            )
        first = inner.gradient(y, x)
    return y, first, outer.gradient(first, x)


def a_custom_gradient_with_variables(tf):
    v = tf.Variable(3.0, name="v")

    @tf.custom_gradient
    def scaled(x):
        y = x * v

        def grad(upstream, variables=None):
            return upstream * v * 10.0, [upstream * x for _ in variables]

        return y, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)
    return tape.gradient(y, [x, v])


def a_custom_gradient_of_several_results_and_order_two(tf):
    @tf.custom_gradient
    def both(x, y):
        def grad(dy, dz):
            return dy * y + dz, dy * x * x

        return (x * y, x + y), grad

    x, y = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            a, b = both(x, y)
            total = a * a + 3.0 * b
        first = inner.gradient(total, [x, y])
    return first, outer.gradient(first, [x, y])


def a_gradient_with_respect_to_an_element(tf):
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        head = x[0]
        y = head * x[1] + tf.gather(x, [2, 2])[1]
    dense = tf.convert_to_tensor(tape.gradient(y, x))
    return dense, tape.gradient(y, head)


def clipped_gradients_and_their_norm(tf):
    a, b, unused = tf.Variable([3.0, 4.0]), tf.Variable([[12.0]]), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = 0.5 * (tf.reduce_sum(a * a) + tf.reduce_sum(b * b))
    gradients = tape.gradient(loss, [a, b, unused])
    clipped, norm = tf.clip_by_global_norm(gradients, 6.5)
    known = [g for g in gradients if g is not None]
    return (
        clipped, norm, tf.linalg.global_norm(gradients), [tf.clip_by_norm(g, 1.0) for g in known],
        [tf.clip_by_value(g, -1.0, 3.5) for g in known],
    )  # fmt: skip


def a_gradient_checked_by_differences(tf):
    theory, numbers = tf.test.compute_gradient(
        lambda x: tf.reduce_sum(x**3), [tf.constant([1.0, 2.0], tf.float64)]
    )
    return theory[0], np.allclose(theory[0], numbers[0], atol=1e-5)


def recomputed_gradients(tf):
    w = tf.Variable(W)

    @tf.recompute_grad
    def block(x):
        return tf.tanh(x @ w)

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(block(tf.constant(X)) ** 2)
    return loss, tape.gradient(loss, w)


# ---- functions -------------------------------------------------------------------------------------------------------


def a_variable_created_once_in_a_function(tf):
    class Count(tf.Module):
        def __init__(self):
            super().__init__()
            self.count = None

        @tf.function
        def __call__(self, x):
            if self.count is None:
                self.count = tf.Variable(0.0)
            return self.count.assign_add(x)

    one, other = Count(), Count()
    return [one(1.0), one(2.0), other(5.0), one(1.0)]


def a_module_with_a_signature(tf):
    class Line(tf.Module):
        def __init__(self):
            super().__init__(name="line")
            self.m = tf.Variable(2.0, name="m")
            self.traces = 0

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)])
        def step(self, x, b):
            self.traces += 1
            return self.m * x + b

    line = Line()
    results = [line.step([1.0, 2.0], 1.0), line.step(tf.range(5.0), tf.constant(2.0)), line.step([], 0.0)]
    try:
        line.step([[1.0]], 1.0)
    except (TypeError, ValueError) as error:
        refused = type(error).__name__ in ("TypeError", "ValueError", "SignatureError", "ShapeError")
    return results, line.traces, refused


def a_function_that_calls_python_for_its_effect(tf):
    seen = []

    @tf.function
    def logged(x):
        tf.py_function(lambda value: seen.append(float(value)), [x], [])
        return x * 2.0

    results = [logged(tf.constant(1.0)), logged(tf.constant(3.0))]
    return results, seen


def python_functions_with_gradients(tf):
    x = tf.constant([1.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.py_function(lambda value: tf.sqrt(value) * 3.0, [x], tf.float32)
        z = tf.numpy_function(lambda value: np.sort(value)[::-1] * np.float32(2), [x], tf.float32)
    return y, tape.gradient(y, x), z


def arrays_are_written_in_a_loop(tf):
    @tf.function
    def fibonacci(n):
        values = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
        a, b = tf.constant(0), tf.constant(1)
        for i in range(n):
            values = values.write(i, a)
            a, b = b, a + b
        return values.stack(), values.size()

    split = tf.TensorArray(tf.float32, size=3).unstack([[1.0], [2.0], [3.0]])
    return fibonacci(8), split.gather([2, 0]), split.read(1)


def a_running_sum_by_scan_and_fold(tf):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        sums = tf.scan(lambda total, row: total * 0.5 + row, x)
        last = tf.foldl(lambda total, row: total * 0.5 + row, x)
        first = tf.foldr(lambda total, row: total * 0.5 + row, x)
        loss = tf.reduce_sum(sums * sums) + tf.reduce_sum(last * first)
    return sums, last, first, tape.gradient(loss, x)


def functions_mapped_over_rows(tf):
    x = tf.constant(X)
    pairs = tf.map_fn(
        lambda row: (tf.reduce_sum(row), row * 2.0), x, fn_output_signature=(tf.float64, tf.float64)
    )
    outer = tf.vectorized_map(lambda row: row[:, tf.newaxis] * row[tf.newaxis, :], x)
    return pairs, outer


def branches_by_value(tf):
    @tf.function
    def chosen(i, x):
        by_index = tf.switch_case(i, [lambda: x, lambda: x * 10.0], default=lambda: -x)
        by_order = tf.case([(x > 2.0, lambda: x + 100.0), (x > 1.0, lambda: x + 10.0)], default=lambda: x)
        return by_index + tf.cond(x > 1.5, lambda: by_order, lambda: 0.0)

    return [chosen(tf.constant(i), tf.constant(x)) for i in (0, 1, 5) for x in (1.0, 1.7, 3.0)]


def structures_are_flattened(tf):
    nested = {"b": (tf.constant(1.0), [tf.constant(2.0), None]), "a": tf.constant(3.0)}
    flat = tf.nest.flatten(nested)
    packed = tf.nest.pack_sequence_as(nested, [0, 1, 2, 3])
    doubled = tf.nest.map_structure(lambda x: x * 2, {"x": [1, 2], "y": (3,)})
    tf.nest.assert_same_structure({"x": 1}, {"x": 2})
    try:
        tf.nest.assert_same_structure([1, 2], [1, [2]])
    except (TypeError, ValueError) as error:
        refused = isinstance(error, ValueError)
    return flat, packed, doubled, tf.nest.is_nested([1]), tf.nest.is_nested(1), refused


def a_function_with_default_and_keyword_arguments(tf):
    @tf.function
    def power(x, exponent=2, *, shift=0.0):
        return x**exponent + shift

    concrete = power.get_concrete_function(tf.TensorSpec([], tf.float32), exponent=3)
    return (
        power(2.0),
        power(2.0, 3),
        power(2.0, shift=1.5),
        concrete(tf.constant(2.0)),
        power(x=tf.constant(3.0)),
    )


def a_gradient_of_a_function_within_a_function(tf):
    w = tf.Variable(W)

    @tf.function
    def loss_of(x):
        return tf.reduce_mean((x @ w) ** 2)

    @tf.function
    def step(x, rate):
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        w.assign_sub(rate * tape.gradient(loss, w))
        return loss

    return [step(tf.constant(X), tf.constant(0.1, tf.float64)) for _ in range(4)], w


def assertions_in_a_function(tf):
    @tf.function
    def root(x):
        tf.debugging.assert_non_negative(x)
        tf.debugging.assert_shapes([(x, ("n",))])
        with tf.control_dependencies([tf.debugging.assert_less(x, 100.0)]):
            return tf.sqrt(x)

    found = [root(tf.constant([4.0, 9.0]))]
    for bad in ([-1.0], [400.0]):
        try:
            root(tf.constant(bad))
        except tf.errors.InvalidArgumentError:
            found.append("InvalidArgumentError")
    return found
