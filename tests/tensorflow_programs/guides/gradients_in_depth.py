"""Programs on tapes, with TensorFlow's guides on automatic differentiation in mind."""

import numpy as np

ROWS = np.random.default_rng(8).normal(size=(4, 3)).astype(np.float32)


def a_tape_in_each_phase(tf):
    x = tf.Variable([[1.0, 2.0]])
    w = tf.Variable(tf.ones([2, 2]) * 0.5, name="w")
    b = tf.Variable(tf.zeros([2]), name="b")
    with tf.GradientTape(persistent=True) as tape:
        h = x @ w + b
        with tape.stop_recording():
            level = tf.reduce_max(h)
        loss = tf.reduce_mean((h - level) ** 2)
        penalty = 0.1 * (tf.nn.l2_loss(w) + tf.nn.l2_loss(b))
        total = loss + penalty
    by_name = tape.gradient(total, {"w": w, "b": b})
    nested = tape.gradient([loss, penalty], [w, [b, (x,)]])
    names = [v.name for v in tape.watched_variables()]
    return by_name, nested, names, tape.gradient(penalty, x) is None


def gradients_of_gradients_of_gradients(tf):
    x = tf.Variable(1.3)
    with tf.GradientTape() as third:
        with tf.GradientTape() as second:
            with tf.GradientTape() as first:
                y = tf.sin(x) * tf.exp(0.5 * x) + x**4
            dy = first.gradient(y, x)
        d2y = second.gradient(dy, x)
    return y, dy, d2y, third.gradient(d2y, x)


def a_jacobian_by_rows_and_at_once(tf):
    x = tf.constant(ROWS)
    layer_weights = tf.Variable(np.linspace(-1, 1, 6).reshape(3, 2), dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(x @ layer_weights)
        columns = [tf.reduce_sum(y[:, i]) for i in range(2)]
    by_column = tf.stack([tape.gradient(c, x) for c in columns], axis=1)
    whole = tape.jacobian(y, x, experimental_use_pfor=False)
    reduced = tf.reduce_sum(whole, axis=2)
    rows = tape.batch_jacobian(y, x)
    return by_column, tf.reduce_max(tf.abs(reduced - rows)), rows, tape.jacobian(y, layer_weights)


def a_hessian_is_used_for_a_step(tf):
    x = tf.constant(ROWS)
    w = tf.Variable(tf.ones([3, 1]) * 0.3)
    target = tf.constant([[1.0], [0.0], [1.0], [1.0]])
    losses = []
    for _ in range(3):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                logits = x @ w
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(target, logits))
                loss += 0.05 * tf.reduce_sum(w**2)
            g = inner.gradient(loss, w)
        h = tf.reshape(outer.jacobian(g, w), [3, 3])
        step = tf.linalg.solve(h + tf.eye(3) * 1e-4, tf.reshape(g, [3, 1]))
        w.assign_sub(step)
        losses.append(loss)
    return losses, w, g


def what_a_gradient_does_not_see(tf):
    x = tf.Variable([2.0, 5.0])
    z = tf.Variable([1.0, 1.0])
    state = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        through_ints = tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0
        through_choice = tf.gather(x, tf.argmax(x))
        through_round = tf.reduce_sum(tf.round(x) * x)
        state.assign_add(tf.reduce_sum(x))
        through_state = state**2
        blocked = tf.reduce_sum(tf.stop_gradient(x) * x + z)
    return [
        tape.gradient(through_ints, x) is None,
        tf.convert_to_tensor(tape.gradient(through_choice, x)),
        tape.gradient(through_round, x),
        tape.gradient(through_state, x) is None,
        tape.gradient(through_state, state),
        tape.gradient(blocked, [x, z]),
        tape.gradient(through_choice, z, unconnected_gradients=tf.UnconnectedGradients.ZERO),
    ]


def gradients_of_indexing(tf):
    table = tf.Variable(np.arange(12.0).reshape(4, 3), dtype=tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        rows = tf.nn.embedding_lookup(table, [1, 3, 1])
        part = tf.reduce_sum(tf.square(table[1:3, ::2]))
        picked = tf.reduce_sum(tf.gather_nd(table, [[0, 0], [0, 0], [3, 2]]) ** 2)
        masked = tf.reduce_sum(tf.boolean_mask(table, [True, False, True, False]) ** 3)
        joined = tf.reduce_prod(tf.concat([table[:1], table[2:3] + 1], 1) + 1.0)
    total = tape.gradient(tf.constant(0.0) + part, table)
    return [
        tf.convert_to_tensor(tape.gradient(rows, table)),
        total,
        tape.gradient(picked, table),
        tape.gradient(masked, table),
        tape.gradient(joined, table),
    ]


def gradients_at_the_edges(tf):
    def of(f, x):
        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return [
        of(tf.abs, [0.0, -1.0]),
        of(tf.nn.relu, [0.0, 2.0]),
        of(lambda x: tf.maximum(x, 1.0), [1.0, 2.0]),
        of(lambda x: tf.clip_by_value(x, -1.0, 1.0), [-1.0, 0.0, 3.0]),
        of(lambda x: tf.reduce_max(x), [2.0, 2.0, 1.0]),
        of(lambda x: tf.math.divide_no_nan(x, [0.0, 4.0]), [1.0, 2.0]),
        of(lambda x: tf.math.xlogy(x, x), [1.0, 2.0]),
        of(lambda x: tf.reduce_prod(x), [0.0, 2.0, 3.0]),
        of(tf.nn.softplus, [-100.0, 0.0, 100.0]),
        of(lambda x: tf.reduce_logsumexp(x), [1000.0, 1000.0]),
        of(lambda x: tf.norm(x), [3.0, 4.0]),
        of(lambda x: tf.where(x > 0.0, x, tf.exp(x)), [-1.0, 2.0]),
    ]


def custom_gradients_compose(tf):
    @tf.custom_gradient
    def clipped_identity(x, limit):
        def backward(upstream):
            return tf.clip_by_value(upstream, -limit, limit), None

        return tf.identity(x), backward

    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def backward(upstream):
            return upstream * (1 - 1 / (1 + e))

        return tf.math.log(1 + e), backward

    x = tf.Variable([0.5, 20.0, -3.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(clipped_identity(x, tf.constant(0.5)) ** 2) + tf.reduce_sum(log1pexp(x))
        g = tape.gradient(y, x)
    return g, outer.gradient(g, x)


def forward_and_reverse_agree(tf):
    x, v = tf.constant(ROWS[0]), tf.constant([1.0, -2.0, 0.5])

    def f(x):
        return tf.stack([tf.reduce_sum(x**3), tf.reduce_prod(tf.cos(x))])

    with tf.autodiff.ForwardAccumulator(x, v) as acc:
        y = f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = f(x)
    jacobian = tape.jacobian(z, x)
    with tf.autodiff.ForwardAccumulator(x, v) as acc2:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(f(x))
        g = tape.gradient(loss, x)
    return acc.jvp(y), tf.linalg.matvec(jacobian, v), acc2.jvp(g)


def norms_of_the_gradients_of_examples(tf):
    x = tf.constant(ROWS)
    labels = tf.constant([0, 1, 1, 0])
    w = tf.Variable(np.linspace(-0.5, 0.5, 6).reshape(3, 2), dtype=tf.float32)
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x @ w)
    per_example = tape.jacobian(losses, w)
    norms = tf.norm(tf.reshape(per_example, [4, -1]), axis=1)
    scale = tf.minimum(1.0, 0.5 / norms)
    return (
        norms,
        tf.reduce_mean(per_example * scale[:, None, None], axis=0),
        tf.linalg.global_norm([per_example]),
    )
