"""Programs on automatic differentiation: tapes, watching, `None`, custom gradients, Jacobians."""

import numpy as np

X = np.random.default_rng(1).normal(size=(6, 3))
POINTS = np.linspace(-2.0, 2.0, 9)


def gradient_of_a_power(tf):
    x = tf.Variable(1.7)
    with tf.GradientTape() as tape:
        y = x**3
    return tape.gradient(y, x)


def gradients_follow_the_structure_of_sources(tf):
    w = tf.Variable(X[:3, :2], name="w")
    b = tf.Variable(tf.zeros(2, dtype=tf.float64), name="b")
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean((tf.constant(X) @ w + b) ** 2)
    by_list = tape.gradient(loss, [w, b])
    by_name = tape.gradient(loss, {"weights": w, "bias": b})
    return by_list, by_name["weights"], by_name["bias"], sorted(by_name)


def gradients_of_the_variables_of_a_layer(tf):
    layer = tf.keras.layers.Dense(2, activation="relu", dtype="float64")
    layer.build((None, 3))
    layer.set_weights([X[:3, :2], np.array([0.1, -0.2])])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(tf.constant(X)) ** 2)
    gradients = tape.gradient(loss, layer.trainable_variables)
    return gradients, [tuple(g.shape) for g in gradients]


def only_trainable_variables_are_watched(tf):
    a = tf.Variable(3.0)
    fixed = tf.Variable(3.0, trainable=False)
    moved = tf.Variable(2.0) + 1.0
    constant = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = a**2 + fixed**2 + moved**2 + constant**2
    return tape.gradient(y, [a, fixed, moved, constant])


def watched_variables_are_listed(tf):
    a, b = tf.Variable(2.0, name="a"), tf.Variable(5.0, name="b")
    with tf.GradientTape() as tape:
        a * b
    return [v.name.split(":")[0] for v in tape.watched_variables()]


def a_tensor_is_watched_on_request(tf):
    x = tf.constant(POINTS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x) * tf.exp(-(x**2))
    return tape.gradient(y, x)


def variables_are_not_watched_on_request(tf):
    a, b = tf.Variable(0.5), tf.Variable(10.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = tf.reduce_sum(tf.nn.softplus(b) + tf.nn.sigmoid(a))
    gradients = tape.gradient(y, {"a": a, "b": b})
    return gradients["a"], gradients["b"]


def gradient_of_an_intermediate_value(tf):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    return tape.gradient(z, y)


def a_persistent_tape_answers_twice(tf):
    x = tf.constant([1.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    return tape.gradient(z, x), tape.gradient(y, x)


def a_tape_answers_once(tf):
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
    tape.gradient(y, x)
    try:
        tape.gradient(y, x)
    except RuntimeError:
        return "RuntimeError"


def the_gradient_of_several_targets_is_a_sum(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        first, second = x**2, 1.0 / x
    together = tape.gradient({"first": first, "second": second}, x)
    with tf.GradientTape() as tape:
        y = x * [3.0, 4.0]
    return together, tape.gradient(y, x)


def python_branches_are_recorded(tf):
    u, v = tf.Variable(2.0), tf.Variable(2.0)
    found = []
    for x in (1.0, -1.0):
        x = tf.constant(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            result = u if x > 0.0 else v**2
        found.append([tape.gradient(result, w) for w in (u, v, x)])
    return found


def a_variable_replaced_by_a_tensor_has_no_gradient(tf):
    x = tf.Variable(2.0)
    found = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = x + 1.0
        found.append((type(x).__name__.endswith("Variable"), tape.gradient(y, x)))
        x = x + 1.0
    return found


def numpy_outside_of_the_record_has_no_gradient(tf):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        squares = x**2
        mean = np.mean(squares.numpy(), axis=0)
        y = tf.reduce_mean(tf.convert_to_tensor(mean), axis=0)
    return tape.gradient(y, x)


def integers_have_no_gradient(tf):
    x = tf.constant(10)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)


def state_stops_a_gradient(tf):
    x, state = tf.Variable(3.0), tf.Variable(0.0)
    with tf.GradientTape() as tape:
        state.assign_add(x)
        y = state**2
    return tape.gradient(y, [x, state])


def zeros_replace_none_on_request(tf):
    x, y = tf.Variable([2.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y**2
    return tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def recording_pauses(tf):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        squared = x * x
        with tape.stop_recording():
            other = y * y
        z = squared + other
    return tape.gradient(z, {"x": x, "y": y})["x"], float(tape.watched_variables()[0])


def recording_starts_anew(tf):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    reset = True
    with tf.GradientTape() as tape:
        y_squared = y * y
        if reset:
            tape.reset()
        z = x * x + y_squared
    return tape.gradient(z, [x, y])


def stop_gradient_blocks(tf):
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = x**2 + tf.stop_gradient(y**2)
    return tape.gradient(z, [x, y])


def a_custom_gradient_clips(tf):
    @tf.custom_gradient
    def clipped(values):
        def backward(upstream):
            return tf.clip_by_norm(upstream, 0.5)

        return values, backward

    v = tf.Variable([2.0, -1.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(clipped(v * v) * [3.0, 4.0])
    return tape.gradient(y, v)


def a_custom_gradient_avoids_infinity(tf):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(upstream):
            return upstream * (1 - 1 / (1 + e))

        return tf.math.log(1 + e), grad

    x = tf.constant([0.0, 2.0, 100.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    return tape.gradient(y, x)


def two_tapes_record_at_once(tf):
    a, b = tf.constant(0.3), tf.constant(1.1)
    with tf.GradientTape() as first, tf.GradientTape() as second:
        first.watch(a)
        second.watch(b)
        y = tf.math.sin(a) + tf.nn.sigmoid(b)
    return first.gradient(y, a), second.gradient(y, b)


def second_derivatives(tf):
    x = tf.Variable(1.5)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**4
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


def the_norm_of_the_input_gradient_is_trained(tf):
    weight = tf.Variable(X[:3, :2])
    x = tf.constant(X)
    with tf.GradientTape() as outer:
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(x)
            loss = tf.reduce_sum(tf.nn.softplus(x @ weight) ** 2)
        norm = tf.norm(inner.gradient(loss, x))
    return norm, outer.gradient(norm, weight)


def jacobian_of_a_vector(tf):
    x = tf.constant(POINTS)
    delta = tf.Variable(0.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + delta)
    return tape.jacobian(y, delta)


def jacobian_of_a_layer(tf):
    x = tf.constant(X)
    weight = tf.Variable(X[:3, :2])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.nn.relu(x @ weight)
    jacobian = tape.jacobian(y, weight)
    same = tf.reduce_sum(jacobian, axis=[0, 1]) - tape.gradient(y, weight)
    return tuple(jacobian.shape), jacobian, tf.reduce_max(tf.abs(same)) < 1e-12


def a_newton_step_with_the_hessian(tf):
    w = tf.Variable(np.array([0.3, -0.4, 0.9]))
    x, label = tf.constant(X), tf.constant((X[:, 0] > 0).astype(float))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            logits = tf.linalg.matvec(x, w)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logits))
        gradient = inner.gradient(loss, w)
    hessian = outer.jacobian(gradient, w)
    damped = hessian + tf.eye(3, dtype=tf.float64) * 1e-3
    w.assign_sub(tf.squeeze(tf.linalg.solve(damped, gradient[:, tf.newaxis]), 1))
    return hessian, w


def jacobians_of_a_batch(tf):
    x = tf.constant(X)
    weight = tf.constant(X[:3, :2])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.nn.elu(x @ weight)
    return tape.batch_jacobian(y, x), tuple(tape.jacobian(y, x).shape)


def a_forward_accumulator(tf):
    x = tf.constant([[2.0, 3.0], [1.0, 4.0]])
    targets = tf.constant([[1.0], [-1.0]])
    kernel = tf.Variable([[0.5], [-0.5]])
    with tf.autodiff.ForwardAccumulator(kernel, tf.constant([[1.0], [0.0]])) as accumulator:
        loss = tf.reduce_sum((x @ kernel - targets) ** 2.0)
    return accumulator.jvp(loss)
