"""Chapters of textbooks on pictures, and on training steps and functions."""

import numpy as np

from tensorflow_programs.generative_models import make_values
from tensorflow_programs.textbooks.chapters_with_losses import make_weights


def style_and_content_of_a_picture(tf):
    L = tf.keras.layers
    i = L.Input((12, 12, 3))
    x = i
    for k, f in enumerate((4, 5, 6)):
        x = L.Conv2D(f, 3, activation="relu", padding="same", name=f"block{k}_conv")(x)
        x = L.MaxPooling2D()(x)
    vgg = tf.keras.Model(i, x)
    make_weights(vgg)
    vgg.trainable = False
    style_layers, content_layers = (["block0_conv", "block1_conv"], ["block2_conv"])

    def gram(t):
        r = tf.linalg.einsum("bijc,bijd->bcd", t, t)
        s = tf.shape(t)
        return r / tf.cast(s[1] * s[2], tf.float32)

    class Extractor(tf.keras.models.Model):
        def __init__(self, sl, cl):
            super().__init__()
            self.vgg = tf.keras.Model([vgg.input], [vgg.get_layer(n).output for n in sl + cl])
            self.sl, self.cl, self.ns = (sl, cl, len(sl))
            self.vgg.trainable = False

        def call(self, inputs):
            o = self.vgg(inputs * 255.0 / 255.0)
            s, c = (o[: self.ns], o[self.ns :])
            return {
                "content": dict(zip(self.cl, c, strict=False)),
                "style": dict(zip(self.sl, [gram(q) for q in s], strict=False)),
            }

    ex = Extractor(style_layers, content_layers)
    style = np.abs(make_values(1, 12, 12, 3, seed=1))
    content = np.abs(make_values(1, 12, 12, 3, seed=2))
    st, ct = (ex(tf.constant(style))["style"], ex(tf.constant(content))["content"])
    image = tf.Variable(content)
    opt = tf.keras.optimizers.Adam(learning_rate=0.02, beta_1=0.99, epsilon=0.1)

    def high_pass(x):
        return (x[:, :, 1:, :] - x[:, :, :-1, :], x[:, 1:, :, :] - x[:, :-1, :, :])

    @tf.function()
    def step(image):
        with tf.GradientTape() as tape:
            o = ex(image)
            sl = tf.add_n([tf.reduce_mean((o["style"][n] - st[n]) ** 2) for n in o["style"]])
            sl *= 0.01 / 2
            cl = tf.add_n([tf.reduce_mean((o["content"][n] - ct[n]) ** 2) for n in o["content"]])
            loss = sl + 10000.0 * cl
            xd, yd = high_pass(image)
            loss += 30 * (tf.reduce_sum(tf.abs(xd)) + tf.reduce_sum(tf.abs(yd)))
        g = tape.gradient(loss, image)
        opt.apply_gradients([(g, image)])
        image.assign(tf.clip_by_value(image, clip_value_min=0.0, clip_value_max=1.0))
        return loss

    return ([step(image) for _ in range(3)], image, len(vgg.trainable_variables))


def a_net_that_segments_pictures(tf):
    L = tf.keras.layers

    def down(filters, size, norm=True):
        s = tf.keras.Sequential()
        s.add(
            L.Conv2D(
                filters,
                size,
                strides=2,
                padding="same",
                kernel_initializer=tf.random_normal_initializer(0.0, 0.02),
                use_bias=False,
            )
        )
        if norm:
            s.add(L.BatchNormalization())
        s.add(L.LeakyReLU())
        return s

    def up(filters, size, drop=False):
        s = tf.keras.Sequential()
        s.add(L.Conv2DTranspose(filters, size, strides=2, padding="same", use_bias=False))
        s.add(L.BatchNormalization())
        if drop:
            s.add(L.Dropout(0.0))
        s.add(L.ReLU())
        return s

    inputs = L.Input(shape=[16, 16, 3])
    x = inputs
    skips = []
    for d in [down(4, 4, False), down(5, 4), down(6, 4)]:
        x = d(x)
        skips.append(x)
    for u, s in zip([up(5, 4, True), up(4, 4)], reversed(skips[:-1]), strict=False):
        x = u(x)
        x = L.Concatenate()([x, s])
    last = L.Conv2DTranspose(filters=3, kernel_size=3, strides=2, padding="same")
    model = tf.keras.Model(inputs=inputs, outputs=last(x))
    make_weights(model)
    model.compile(
        optimizer="adam",
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    X = make_values(6, 16, 16, 3)
    Y = (X[..., :1] > 0).astype(int) + (X[..., 1:2] > 0.3)
    w = np.array([2.0, 2.0, 1.0])
    w = (w / w.sum()).astype("float32")
    sw = w[Y[..., 0]]
    h = model.fit(tf.data.Dataset.from_tensor_slices((X, Y, sw[..., None])).batch(3), epochs=2, verbose=0)
    p = tf.argmax(model.predict(X[:2], verbose=0), axis=-1)[..., tf.newaxis]
    return (h.history, tf.reduce_sum(p), model.evaluate(X, Y, verbose=0))


def patches_by_operations_of_keras(tf):
    keras = tf.keras
    ops = keras.ops
    layers = keras.layers

    class Patches(layers.Layer):
        def __init__(self, p, **kw):
            super().__init__(**kw)
            self.p = p

        def call(self, x):
            s = ops.shape(x)
            _b, h, w, c = (s[0], s[1], s[2], s[3])
            nh, nw = (h // self.p, w // self.p)
            x = ops.reshape(x, (-1, nh, self.p, nw, self.p, c))
            x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
            return ops.reshape(x, (-1, nh * nw, self.p * self.p * c))

    class PatchEncoder(layers.Layer):
        def __init__(self, n, d):
            super().__init__()
            self.n = n
            self.projection = layers.Dense(d)
            self.position_embedding = layers.Embedding(n, d)

        def call(self, patch):
            positions = ops.expand_dims(ops.arange(start=0, stop=self.n, step=1), axis=0)
            return self.projection(patch) + self.position_embedding(positions)

    class Attn(layers.Layer):
        def __init__(self, d):
            super().__init__()
            self.q, self.k, self.v = (layers.Dense(d), layers.Dense(d), layers.Dense(d))
            self.d = d

        def call(self, x):
            q, k, v = (self.q(x), self.k(x), self.v(x))
            s = ops.matmul(q, ops.transpose(k, (0, 2, 1))) / ops.sqrt(ops.cast(self.d, "float32"))
            n = ops.shape(x)[1]
            m = ops.tril(ops.ones((n, n)))
            s = ops.where(m > 0, s, -1000000000.0)
            return ops.einsum("bij,bjd->bid", ops.softmax(s, axis=-1), v)

    i = layers.Input((8, 8, 2))
    x = Patches(4)(i)
    x = PatchEncoder(4, 6)(x)
    y = Attn(6)(x)
    x = layers.Add()([x, y])
    x = ops.mean(x, axis=1)
    o = layers.Dense(3)(ops.relu(x))
    m = keras.Model(i, o)
    make_weights(m)

    def loss(y_true, y_pred):
        lp = ops.log_softmax(y_pred)
        y_true = ops.one_hot(
            ops.cast(ops.squeeze(y_true, -1) if len(y_true.shape) == 2 else y_true, "int32"), 3
        )
        return -ops.sum(y_true * lp, axis=-1)

    m.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"])
    X = make_values(6, 8, 8, 2)
    h = m.fit(X, np.array([0, 1, 2, 0, 1, 2])[:, None], epochs=3, batch_size=3, shuffle=False, verbose=0)
    return (h.history, m(X), m.count_params())


def training_steps_that_are_overridden(tf):

    class CustomModel(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred)
            trainable_vars = self.trainable_variables
            gradients = tape.gradient(loss, trainable_vars)
            self.optimizer.apply(gradients, trainable_vars)
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

        def test_step(self, data):
            x, y = data
            y_pred = self(x, training=False)
            loss = self.compute_loss(y=y, y_pred=y_pred)
            for metric in self.metrics:
                if metric.name != "loss":
                    metric.update_state(y, y_pred)
                else:
                    metric.update_state(loss)
            return {m.name: m.result() for m in self.metrics}

    class Lower(tf.keras.Model):
        def __init__(self, *a, **k):
            super().__init__(*a, **k)
            self.loss_tracker = tf.keras.metrics.Mean(name="loss")
            self.mae_metric = tf.keras.metrics.MeanAbsoluteError(name="mae")
            self.loss_fn = tf.keras.losses.MeanSquaredError()

        def train_step(self, data):
            if len(data) == 3:
                x, y, sw = data
            else:
                (x, y), sw = (data, None)
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.loss_fn(y, y_pred, sample_weight=sw)
            self.optimizer.apply_gradients(
                zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=False)
            )
            self.loss_tracker.update_state(loss)
            self.mae_metric.update_state(y, y_pred, sample_weight=sw)
            return {"loss": self.loss_tracker.result(), "mae": self.mae_metric.result()}

        @property
        def metrics(self):
            return [self.loss_tracker, self.mae_metric]

    out = []
    for cls in (CustomModel, Lower):
        i = tf.keras.Input(shape=(5,))
        m = cls(i, tf.keras.layers.Dense(1)(tf.keras.layers.Dense(3, activation="tanh")(i)))
        make_weights(m)
        m.compile(
            optimizer=tf.keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"]
        ) if cls is CustomModel else m.compile(optimizer="sgd")
        X = make_values(10, 5)
        Y = X[:, :1]
        out.append(m.fit(X, Y, epochs=3, batch_size=4, shuffle=False, verbose=0).history)
        if cls is Lower:
            out.append(m.fit(X, Y, sample_weight=np.arange(10.0), epochs=2, shuffle=False, verbose=0).history)
        else:
            out.append(m.evaluate(X, Y, verbose=0))
    return out


def loops_and_signatures_of_functions(tf):

    @tf.function(input_signature=(tf.TensorSpec(shape=[None], dtype=tf.int32),))
    def next_collatz(x):
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    out = [next_collatz(tf.constant([1, 2])), next_collatz(tf.constant([3, 4, 5]))]
    try:
        next_collatz(tf.constant([[1, 2], [3, 4]]))
        out.append("no error")
    except (TypeError, ValueError) as e:
        out.append(type(e).__name__)
    try:
        next_collatz(tf.constant([1.0, 2.0]))
        out.append("no error")
    except (TypeError, ValueError) as e:
        out.append(type(e).__name__)

    @tf.function(reduce_retracing=True)
    def g(x):
        return tf.reduce_sum(x * x) if x.shape.rank == 1 else x

    out += [g(tf.ones([n])) for n in range(1, 6)] + [g.experimental_get_tracing_count() <= 3]

    @tf.function
    def dynamic_rnn(cell_w, input_data, initial_state):
        input_data = tf.transpose(input_data, [1, 0, 2])
        max_seq_len = tf.shape(input_data)[0]
        states = tf.TensorArray(tf.float32, size=max_seq_len)
        state = initial_state
        for i in tf.range(max_seq_len):
            state = tf.tanh(input_data[i] @ cell_w + state)
            states = states.write(i, state)
        return tf.transpose(states.stack(), [1, 0, 2])

    W = tf.Variable(make_values(3, 4))
    with tf.GradientTape() as t:
        r = dynamic_rnn(W, tf.constant(make_values(2, 5, 3)), tf.zeros((2, 4)))
        loss = tf.reduce_sum(r**2)
    out += [r, t.gradient(loss, W)]

    @tf.function
    def train_one_step(n):
        i, s = (tf.constant(0), tf.constant(0.0))
        while i < n:
            if tf.equal(i % 3, 0):
                i += 1
                continue
            if i > 10:
                break
            s += tf.cast(i, tf.float32)
            i += 1
        return (s, i)

    out += [train_one_step(tf.constant(n)) for n in (0, 5, 20)]
    i, s = tf.while_loop(
        lambda i, s: i < 5,
        lambda i, s: [i + 1, s * 2.0 + tf.cast(i, tf.float32)],
        [tf.constant(0), tf.constant(1.0)],
    )
    out += [i, s]

    @tf.function
    def fizz(n):
        c = tf.constant(0)
        for k in tf.range(1, n + 1):
            if k % 15 == 0:
                c += 100
            elif k % 5 == 0:
                c += 10
            else:
                c += 1
        return c

    out += [fizz(tf.constant(16)), fizz(7)]
    x = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        y = tf.cond(x > 1, lambda: x**3, lambda: -x)
        z = tf.case([(x < 0, lambda: x), (x < 1, lambda: 2 * x)], default=lambda: tf.sin(x))
    out += [tape.gradient([y, z], x)]
    out += [
        tf.map_fn(
            lambda r: (r[0] + r[1], r[0] * r[1]),
            (tf.range(3.0), tf.range(3.0) + 1),
            fn_output_signature=(tf.float32, tf.float32),
        ),
        tf.scan(lambda a, r: a + r, tf.constant([1.0, 2.0, 3.0])),
        tf.foldl(lambda a, r: a * r, tf.constant([1.0, 2.0, 3.0])),
    ]
    cf = g.get_concrete_function(tf.TensorSpec([4], tf.float32))
    out += [cf(tf.ones([4])), cf.structured_outputs.dtype == tf.float32, cf.output_dtypes == tf.float32]
    return out
