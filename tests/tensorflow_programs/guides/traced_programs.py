"""Programs of traced functions, modules, checkpoints and the core parts, with TensorFlow's guides on them in mind."""

import os
import tempfile

import numpy as np

X = np.random.default_rng(21).normal(size=(12, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3 * np.sin(7 * X[:, :1])).astype(np.float32)
LABELS = (np.arange(12) % 3).astype(np.int32)


def make_flexible(tf):
    class FlexibleDense(tf.Module):
        def __init__(self, out_features, activation=None, name=None):
            super().__init__(name=name)
            self.is_built, self.out_features, self.activation = False, out_features, activation

        @tf.Module.with_name_scope
        def __call__(self, x):
            if not self.is_built:
                n = x.shape[-1]
                values = np.cos(np.arange(n * self.out_features)).reshape(n, -1) / n
                self.w = tf.Variable(tf.cast(values, tf.float32), name="w")
                self.b = tf.Variable(tf.zeros([self.out_features]), name="b")
                self.is_built = True
            y = tf.matmul(x, self.w) + self.b
            return y if self.activation is None else self.activation(y)

    class Stack(tf.Module):
        def __init__(self, sizes, name=None):
            super().__init__(name=name)
            self.layers = [FlexibleDense(n, tf.nn.relu if n > 3 else None) for n in sizes]

        @tf.function
        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    return Stack


def modules_are_built_at_the_first_call(tf):
    model = make_flexible(tf)([4, 3, 1], name="net")
    y = model(tf.constant(X))
    names = [v.name for v in model.trainable_variables]
    parts = [type(m).__name__ for m in model.submodules]
    shapes = [v.shape.as_list() for v in model.variables]
    return y, len(names), sorted(n.rsplit("/", 1)[-1] for n in names), parts, shapes, model.name


class MakeAdam:
    """Adam by hand, as a program of the core parts writes it."""

    def __init__(self, tf, rate=0.05, decays=(0.9, 0.999), epsilon=1e-7):
        self.tf, self.rate, self.decays, self.epsilon = tf, rate, decays, epsilon
        self.step, self.slots = 1.0, None

    def apply(self, grads, variables):
        tf = self.tf
        if self.slots is None:
            self.slots = [(tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for v in variables]
        first, second = self.decays
        for g, v, (m, s) in zip(grads, variables, self.slots, strict=True):
            m.assign(first * m + (1 - first) * g)
            s.assign(second * s + (1 - second) * tf.square(g))
            m_hat, s_hat = m / (1 - first**self.step), s / (1 - second**self.step)
            v.assign_sub(self.rate * m_hat / (tf.sqrt(s_hat) + self.epsilon))
        self.step += 1.0


def a_classifier_of_the_core_parts(tf):
    model = make_flexible(tf)([5, 3])
    optimizer = MakeAdam(tf)
    data = tf.data.Dataset.from_tensor_slices((X, LABELS)).batch(4)
    history = []
    for _ in range(4):
        losses, hits = [], []
        for x, labels in data:
            with tf.GradientTape() as tape:
                logits = model(x)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
            grads = tape.gradient(loss, model.variables)
            optimizer.apply(grads, model.variables)
            losses.append(loss)
            predicted = tf.argmax(tf.nn.softmax(logits), axis=1, output_type=tf.int32)
            hits.append(tf.reduce_mean(tf.cast(tf.equal(predicted, labels), tf.float32)))
        history.append((tf.reduce_mean(losses), tf.reduce_mean(hits)))
    return history


def a_logistic_regression_with_standardized_features(tf):
    class Standardize(tf.Module):
        def __init__(self, x):
            self.mean = tf.Variable(tf.math.reduce_mean(x, axis=0))
            self.std = tf.Variable(tf.math.reduce_std(x, axis=0))

        def norm(self, x):
            return (x - self.mean) / self.std

        def unnorm(self, x):
            return (x * self.std) + self.mean

    scale = Standardize(tf.constant(X * [3.0, 1.0, 0.1] + [1.0, 0.0, 5.0], dtype=tf.float32))
    x = scale.norm(tf.constant(X * [3.0, 1.0, 0.1] + [1.0, 0.0, 5.0], dtype=tf.float32))
    y = tf.cast(LABELS == 1, tf.float32)
    w, b = tf.Variable(tf.zeros([3, 1])), tf.Variable(0.0)
    losses = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            logits = tf.squeeze(x @ w + b, axis=1)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=y))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(0.3 * dw)
        b.assign_sub(0.3 * db)
        losses.append(loss)
    p = tf.sigmoid(tf.squeeze(x @ w + b, axis=1))
    classes = tf.cast(p >= 0.5, tf.int32)
    table = tf.math.confusion_matrix(tf.cast(y, tf.int32), classes)
    return losses[::5], w, b, table, scale.unnorm(x[:2])


def a_spiral_of_an_optimizer(tf):
    class Descent(tf.Module):
        def __init__(self, rate, momentum=0.0):
            self.rate, self.momentum = rate, momentum
            self.speed, self.built = [], False

        def apply_gradients(self, grads, variables):
            if not self.built:
                self.speed.extend([tf.Variable(tf.zeros_like(v)) for v in variables])
                self.built = True
            for i, (d, v) in enumerate(zip(grads, variables, strict=True)):
                self.speed[i].assign(self.momentum * self.speed[i] + self.rate * d)
                v.assign_sub(self.speed[i])

    def surface(x):
        return 2 * x[0] ** 4 + 3 * x[1] ** 2 + x[0] ** 2 * tf.sin(x[1]) + x[0]

    found = []
    for momentum in (0.0, 0.8):
        x, optimizer = tf.Variable([1.2, -1.5]), Descent(0.05, momentum)
        for _ in range(15):
            with tf.GradientTape() as tape:
                y = surface(x)
            optimizer.apply_gradients([tape.gradient(y, x)], [x])
        found.append((tf.convert_to_tensor(x), y, len(optimizer.variables)))
    return found


def polymorphic_functions(tf):
    traces = []

    @tf.function
    def double(a):
        traces.append(a.dtype.name)
        return a + a

    found = [
        double(tf.constant(1)),
        double(tf.constant(1.5)),
        double(tf.constant([1, 2])),
        double(tf.constant(7)),
    ]
    concrete = double.get_concrete_function(tf.TensorSpec(shape=[None], dtype=tf.int32))
    found.append(concrete(tf.constant([5, 6, 7])))
    strict = tf.function(
        lambda x, y: x * y, input_signature=(tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32))
    )
    found.append(strict(tf.constant([1.0, 2.0]), tf.constant(3.0)))
    try:
        strict(tf.constant([[1.0, 2.0]]), tf.constant(3.0))
        refused = False
    except (TypeError, ValueError):
        refused = True
    return found, traces[:2], refused, concrete.structured_outputs.shape.as_list()


def loops_and_branches_of_tensors(tf):
    @tf.function
    def collatz(n):
        return tf.while_loop(
            lambda n, steps: n > 1,
            lambda n, steps: (tf.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1),
            (n, tf.constant(0)),
        )[1]

    @tf.function
    def dynamic_rnn(cell_weights, sequence, lengths):
        def step(t, state, outputs):
            new = tf.tanh(sequence[:, t] @ cell_weights + state)
            alive = tf.expand_dims(t < lengths, -1)
            state = tf.where(alive, new, state)
            return t + 1, state, outputs.write(t, state)

        steps = tf.shape(sequence)[1]
        outputs = tf.TensorArray(tf.float32, steps)
        start = tf.zeros([tf.shape(sequence)[0], tf.shape(cell_weights)[1]])
        _, state, outputs = tf.while_loop(lambda t, *_: t < steps, step, (tf.constant(0), start, outputs))
        return tf.transpose(outputs.stack(), [1, 0, 2]), state

    sequence = tf.constant(X.reshape(2, 6, 3))
    w = tf.constant(np.eye(3, 2, dtype=np.float32))
    kinds = tf.switch_case(
        tf.constant(1), [lambda: tf.constant(10), lambda: tf.constant(20)], default=lambda: tf.constant(-1)
    )
    case = tf.case(
        [(tf.constant(False), lambda: tf.constant(1.0)), (tf.constant(True), lambda: tf.constant(2.0))],
        default=lambda: tf.constant(3.0),
    )
    return collatz(tf.constant(27)), dynamic_rnn(w, sequence, tf.constant([6, 4])), kinds, case


def a_function_of_every_length(tf):
    traced = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def pooled(x):
        traced.append(1)
        n = tf.shape(x)[0]
        half = tf.maximum(tf.math.floordiv(n, 2), 1)
        weights = tf.linspace(0.0, 1.0, n)
        flat = tf.reshape(x, [tf.reduce_prod(tf.shape(x))])
        padded = tf.pad(x, [[0, tf.maximum(8 - n, 0)], [0, 0]])
        mask = tf.sequence_mask(n, maxlen=tf.maximum(n, 8))
        grid = tf.broadcast_to(tf.range(n)[:, None], tf.stack([n, half]))
        return x[:half], weights, tf.reduce_sum(flat), padded, mask, tf.reduce_sum(grid), tf.one_hot(0, n)

    found = [pooled(tf.constant(X[:n])) for n in (3, 5, 8, 11, 12)]
    return found, len(traced) <= 4


def variables_within_functions(tf):
    class Counter(tf.Module):
        def __init__(self):
            self.count, self.total = tf.Variable(0), None

        @tf.function
        def __call__(self, x):
            if self.total is None:
                self.total = tf.Variable(tf.zeros([3]), trainable=False)
            self.count.assign_add(1)
            self.total.assign_add(tf.reduce_sum(x, axis=0))
            return self.total / tf.cast(self.count, tf.float32)

    counter = Counter()
    means = [counter(tf.constant(X[i : i + 4])) for i in (0, 4, 8)]
    return (
        means,
        counter.count,
        [v.shape.as_list() for v in counter.variables],
        len(counter.trainable_variables),
    )


def checkpoints_of_several_objects(tf):
    class Net(tf.Module):
        def __init__(self):
            self.w = tf.Variable(tf.ones([3, 1]))
            self.extra = {"bias": tf.Variable([0.5])}
            self.steps = [tf.Variable(1.0), tf.Variable(2.0)]

    with tempfile.TemporaryDirectory() as folder:
        net, step = Net(), tf.Variable(0, dtype=tf.int64)
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        checkpoint = tf.train.Checkpoint(step=step, net=net)
        manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2, checkpoint_name="state")
        first = manager.restore_or_initialize()
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.constant(X) @ net.w + net.extra["bias"] - Y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [net.w]), [net.w], strict=True))
            step.assign_add(1)
            manager.save()
        kept = [os.path.basename(path) for path in manager.checkpoints]
        other, other_step = Net(), tf.Variable(0, dtype=tf.int64)
        status = tf.train.Checkpoint(step=other_step, net=other).restore(manager.latest_checkpoint)
        status.assert_consumed()
        partial = tf.Variable(tf.zeros([3, 1]))
        holder = tf.Module()
        holder.w = partial
        tf.train.Checkpoint(net=holder).restore(manager.latest_checkpoint).expect_partial()
        latest = os.path.basename(tf.train.latest_checkpoint(folder))
    return first is None, kept, other_step, other.w, partial, latest, loss


def what_a_trace_keeps(tf):
    factor = tf.Variable(2.0)
    plain = 3.0
    log = []

    @tf.function
    def f(x, training=False, *, scale=1.0):
        log.append("training" if training else "use")
        y = x * factor * plain * scale
        return {"y": y, "parts": (y + 1, [y - 1])} if training else {"y": y, "parts": (y, [y])}

    found = [f(tf.constant(1.0)), f(tf.constant(1.0), training=True), f(tf.constant(2.0), True, scale=0.5)]
    factor.assign(5.0)
    plain = 7.0
    found.append(f(tf.constant(1.0)))
    with tf.GradientTape() as tape:
        y = f(tf.constant(2.0))["y"]
    return found, tape.gradient(y, factor), plain, log[:2]
