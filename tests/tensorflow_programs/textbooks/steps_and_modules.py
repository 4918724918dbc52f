"""Steps of models, of modules and of gradients that a program writes itself."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_train_step_that_unpacks_weights(tf):
    L = tf.keras.layers

    class M(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.d1 = L.Dense(
                4,
                activation="relu",
                activity_regularizer=tf.keras.regularizers.L2(0.01),
                kernel_regularizer="l2",
            )
            self.d2 = L.Dense(3)
            self.drop = L.Dropout(0.0)

        def call(self, x, training=False):
            return self.d2(self.drop(self.d1(x), training=training))

        def train_step(self, data):
            x, y, sw = tf.keras.utils.unpack_x_y_sample_weight(data)
            with tf.GradientTape() as t:
                p = self(x, training=True)
                found = self.compute_loss(x=x, y=y, y_pred=p, sample_weight=sw)
            tv = self.trainable_variables
            self.optimizer.apply(t.gradient(found, tv), tv)
            for m in self.metrics:
                if m.name == "loss":
                    m.update_state(found)
                else:
                    m.update_state(y, p, sample_weight=sw)
            return {m.name: m.result() for m in self.metrics}

    m = M()
    x = make_values(9, 4)
    y = np.arange(9) % 3
    m(x[:1])
    make_weights(m)
    m.compile(
        optimizer=tf.keras.optimizers.AdamW(0.01, weight_decay=0.1),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy", tf.keras.metrics.SparseTopKCategoricalAccuracy(k=2, name="top2")],
        weighted_metrics=["accuracy"],
    )
    h = m.fit(
        x,
        y,
        sample_weight=np.linspace(0, 1, 9).astype(np.float32),
        epochs=2,
        batch_size=4,
        shuffle=False,
        verbose=0,
    )
    ev = m.evaluate(x, y, verbose=0, return_dict=True)
    t = m.train_on_batch(x[:3], y[:3], return_dict=True)
    tb = m.test_on_batch(x, y, return_dict=True)
    pb = m.predict_on_batch(x[:2])
    m2 = M()
    m2(x[:1])
    make_weights(m2)
    m2.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["acc"])
    h2 = m2.fit(
        x,
        y,
        class_weight={0: 1.0, 1: 2.0, 2: 0.5},
        epochs=3,
        initial_epoch=1,
        batch_size=3,
        shuffle=False,
        validation_split=0.34,
        verbose=0,
        callbacks=[
            tf.keras.callbacks.LearningRateScheduler(lambda e, lr: lr * 0.5),
            tf.keras.callbacks.ReduceLROnPlateau(patience=1),
            tf.keras.callbacks.TerminateOnNaN(),
        ],
    )
    return (
        sorted(h.history.items()),
        sorted(ev.items()),
        sorted(t.items()),
        sorted(tb.items()),
        pb,
        sorted(h2.history.items()),
        h2.epoch,
        [found.name for found in m.layers],
        m.metrics_names,
    )


def accumulated_clipped_and_averaged(tf):
    L = tf.keras.layers
    m = tf.keras.Sequential(
        [tf.keras.Input((3,)), L.Dense(4, "swish"), L.BatchNormalization(momentum=0.5), L.Dense(2)]
    )
    make_weights(m)
    x, y = (make_values(12, 3), np.arange(12) % 2)
    lo = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    out = []
    opt = tf.keras.optimizers.SGD(
        tf.keras.optimizers.schedules.CosineDecay(0.1, 4),
        momentum=0.9,
        nesterov=True,
        global_clipnorm=0.5,
        use_ema=True,
        ema_momentum=0.5,
        weight_decay=0.01,
    )
    opt.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    opt.build(m.trainable_variables)
    acc = [tf.Variable(tf.zeros_like(v), trainable=False) for v in m.trainable_variables]

    @tf.function
    def micro(xb, yb):
        with tf.GradientTape() as t:
            found = lo(yb, m(xb, training=True)) / 4.0
        for a, g in zip(acc, t.gradient(found, m.trainable_variables), strict=False):
            a.assign_add(g)
        return found

    @tf.function
    def update():
        gs = [tf.clip_by_value(a, -0.3, 0.3) for a in acc]
        gs, n = tf.clip_by_global_norm(gs, 1.0)
        opt.apply_gradients(zip(gs, m.trainable_variables, strict=False))
        for a in acc:
            a.assign(tf.zeros_like(a))
        return n

    for _k in range(3):
        out.append([micro(x[i : i + 4], y[i : i + 4]) for i in (0, 4, 8)] + [update()])
    w = [tf.identity(v) for v in m.trainable_variables]
    opt.finalize_variable_values(m.trainable_variables)
    return (out, w, m.get_weights(), opt.learning_rate)


def a_perceptron_of_modules_and_adam(tf):

    def xavier_init(shape):
        a, b = shape
        lim = tf.sqrt(6.0) / tf.sqrt(float(a + b))
        return tf.constant(np.linspace(-1, 1, a * b).reshape(a, b), tf.float32) * lim

    class DenseLayer(tf.Module):
        def __init__(self, out_dim, weight_init=xavier_init, activation=tf.identity):
            self.out_dim = out_dim
            self.weight_init = weight_init
            self.activation = activation
            self.built = False

        def __call__(self, x):
            if not self.built:
                self.in_dim = x.shape[1]
                self.w = tf.Variable(self.weight_init(shape=(self.in_dim, self.out_dim)))
                self.b = tf.Variable(tf.zeros(shape=(self.out_dim,)))
                self.built = True
            return self.activation(tf.add(tf.matmul(x, self.w), self.b))

    class MLP(tf.Module):
        def __init__(self, layers):
            self.layers = layers

        @tf.function
        def __call__(self, x, preds=False):
            for found in self.layers:
                x = found(x)
            return x

    mlp = MLP([DenseLayer(6, activation=tf.nn.relu), DenseLayer(5, activation=tf.nn.relu), DenseLayer(3)])

    class Adam:
        def __init__(self, lr=0.01, b1=0.9, b2=0.999, ep=1e-07):
            self.b1, self.b2, self.lr, self.ep, self.t = (b1, b2, lr, ep, 1.0)
            self.v_dvar, self.s_dvar = ([], [])
            self.built = False

        def apply_gradients(self, grads, vars):
            if not self.built:
                for var in vars:
                    self.v_dvar.append(tf.Variable(tf.zeros(shape=var.shape)))
                    self.s_dvar.append(tf.Variable(tf.zeros(shape=var.shape)))
                self.built = True
            for i, (d, var) in enumerate(zip(grads, vars, strict=False)):
                self.v_dvar[i].assign(self.b1 * self.v_dvar[i] + (1 - self.b1) * d)
                self.s_dvar[i].assign(self.b2 * self.s_dvar[i] + (1 - self.b2) * tf.square(d))
                vb = self.v_dvar[i] / (1 - self.b1**self.t)
                sb = self.s_dvar[i] / (1 - self.b2**self.t)
                var.assign_sub(self.lr * (vb / (tf.sqrt(sb) + self.ep)))
            self.t += 1.0

    x = make_values(20, 4)
    y = (np.arange(20) % 3).astype(np.int32)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(7)
    opt = Adam()
    hist = []

    def ce(p, t):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=p))

    def acc(p, t):
        return tf.reduce_mean(
            tf.cast(tf.equal(tf.argmax(tf.nn.softmax(p), axis=1), tf.cast(t, tf.int64)), tf.float32)
        )

    for _ep in range(2):
        for xb, yb in ds:
            with tf.GradientTape() as tape:
                found = ce(mlp(xb), yb)
            opt.apply_gradients(tape.gradient(found, mlp.variables), mlp.variables)
            hist.append([found, acc(mlp(xb), yb)])

    class Export(tf.Module):
        def __init__(self, m):
            self.m = m

        @tf.function(input_signature=[tf.TensorSpec(shape=[None, 4], dtype=tf.float32)])
        def __call__(self, x):
            return tf.argmax(self.m(x), axis=1)

    e = Export(mlp)
    return (
        hist,
        e(tf.constant(x)),
        [len(mlp.layers), len(mlp.trainable_variables), len(mlp.submodules)],
        [v.name for v in mlp.variables][:2],
    )


def gradients_of_many_operations(tf):
    x = tf.Variable(2.0)
    y = tf.constant(3.0)
    r = {}
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as t:
        t.watch(y)
        z = x * y
        a = z * z
    r["a"] = t.gradient(a, {"x": x, "y": y, "z": z})
    r["u"] = t.gradient(a, x, unconnected_gradients="zero")
    r["list"] = t.gradient([a, z], [y])
    r["dict"] = t.gradient({"p": a, "q": z}, y)
    del t
    with tf.GradientTape() as t:
        b = [x * 2, x**3]
    r["og"] = t.gradient(b, x, output_gradients=[tf.constant(2.0), tf.constant(0.5)])
    with tf.GradientTape() as t:
        c = tf.cast(tf.cast(x * 2.6, tf.int32), tf.float32) * x
    r["cast"] = t.gradient(c, x)
    with tf.GradientTape() as t:
        q = x * x
        with t.stop_recording():
            s = q * x
        d = s * x
    r["stop"] = t.gradient(d, x)
    m = tf.Variable(make_values(3, 3))
    with tf.GradientTape() as t:
        e = (
            tf.reduce_sum(tf.gather(m, [0, 2, 0]) ** 2)
            + m[1, 2] ** 3
            + tf.reduce_max(m[..., ::-1], 1)[0]
            + tf.reduce_sum(tf.boolean_mask(m, m > 0))
            + tf.reduce_sum(tf.sort(m, 1)[:, -1])
            + tf.reduce_sum(tf.where(m > 0.2, m * m, -m))
            + tf.math.top_k(m, 2).values[0, 1]
            + tf.reduce_sum(tf.tensor_scatter_nd_update(m, [[0, 0]], [5.0]) ** 2)
            + tf.reduce_sum(tf.linalg.diag_part(m) ** 3)
            + tf.reduce_sum(tf.einsum("ij,kj->ik", m, m))
            + tf.reduce_sum(tf.cumsum(m, 1) ** 2)
            + tf.reduce_sum(tf.roll(m, 1, 0) * m)
        )
    r["many"] = tf.convert_to_tensor(t.gradient(e, m))

    @tf.custom_gradient
    def f(x, y):

        def g(up):
            return (up * y * 10.0, up * x * 100.0)

        return (x * y, g)

    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            h = f(x, x * 2)
        g = t1.gradient(h, x)
    r["cg"] = [g, t2.gradient(g, x)]
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as acc:
        with tf.GradientTape() as t:
            k = tf.sin(x) * x**3
        gk = t.gradient(k, x)
    r["fwd"] = [acc.jvp(k), acc.jvp(gk)]
    with tf.GradientTape() as t:
        w = (
            tf.reduce_sum(tf.map_fn(lambda u: u * x, tf.constant([1.0, 2.0])))
            + tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [0, x])[1]
            + tf.cond(x > 1, lambda: x**2, lambda: x)
            + tf.scan(lambda a, b: a * x + b, tf.constant([1.0, 2.0, 3.0]))[-1]
            + tf.foldl(lambda a, b: a + b * x, tf.constant([1.0, 2.0]), initializer=x)
            + tf.switch_case(tf.constant(1), [lambda: x, lambda: x * 5])
        )
    r["ctrl"] = t.gradient(w, x)
    with tf.GradientTape() as t:
        tf.norm(tf.stack([x - 2.0, x - 2.0]))
    return r
