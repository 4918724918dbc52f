"""Chapters of textbooks on losses, metrics and callbacks of one's own."""

import numpy as np

from tensorflow_programs.generative_models import make_values


def make_weights(*models, seed=6):
    """Give models weights that do not depend on the package; variances are positive."""
    rng = np.random.default_rng(seed)
    for model in models:
        for weight in model.weights:
            value = 0.3 * rng.normal(size=tuple(weight.shape)).astype(np.float32)
            weight.assign(np.abs(value) if "var" in weight.name else value)


def a_siamese_net_with_a_contrastive_loss(tf):
    L = tf.keras.layers

    def euclidean(v):
        a, b = v
        s = tf.math.reduce_sum(tf.math.square(a - b), axis=1, keepdims=True)
        return tf.math.sqrt(tf.math.maximum(s, 1e-07))

    i = L.Input((6, 6, 1))
    x = L.BatchNormalization()(i)
    x = L.Conv2D(3, (3, 3), activation="tanh")(x)
    x = L.AveragePooling2D(pool_size=(2, 2))(x)
    x = L.Flatten()(x)
    x = L.BatchNormalization()(x)
    x = L.Dense(4, activation="tanh")(x)
    emb = tf.keras.Model(i, x)
    a, b = (L.Input((6, 6, 1)), L.Input((6, 6, 1)))
    merge = L.Lambda(euclidean, output_shape=(1,))([emb(a), emb(b)])
    out = L.Dense(1, activation="sigmoid")(L.BatchNormalization()(merge))
    s = tf.keras.Model(inputs=[a, b], outputs=out)
    make_weights(s)

    def loss(margin=1):

        def contrastive_loss(y_true, y_pred):
            sq = tf.math.square(y_pred)
            ms = tf.math.square(tf.math.maximum(margin - y_pred, 0))
            return tf.math.reduce_mean((1 - y_true) * sq + y_true * ms)

        return contrastive_loss

    s.compile(loss=loss(margin=1), optimizer="RMSprop", metrics=["accuracy"])
    A, B = (make_values(8, 6, 6, 1), make_values(8, 6, 6, 1, seed=3))
    y = np.array([0, 1, 0, 1, 1, 0, 1, 0], "float32")
    h = s.fit(
        [A, B], y, validation_data=([A[:3], B[:3]], y[:3]), batch_size=4, epochs=2, shuffle=False, verbose=0
    )
    return (h.history, s.predict([A[:2], B[:2]], verbose=0))


def losses_and_metrics_of_several_label_dtypes(tf):

    class BinaryTruePositives(tf.keras.metrics.Metric):
        def __init__(self, name="binary_true_positives", **kwargs):
            super().__init__(name=name, **kwargs)
            self.true_positives = self.add_weight(name="tp", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            y_true = tf.cast(y_true, tf.bool)
            y_pred = tf.cast(y_pred > 0.5, tf.bool)
            values = tf.logical_and(tf.equal(y_true, True), tf.equal(y_pred, True))
            values = tf.cast(values, self.dtype)
            if sample_weight is not None:
                sample_weight = tf.cast(sample_weight, self.dtype)
                values = tf.multiply(values, sample_weight)
            self.true_positives.assign_add(tf.reduce_sum(values))

        def result(self):
            return self.true_positives

        def reset_state(self):
            self.true_positives.assign(0)

    def soft_acc(y_true, y_pred):
        return tf.reduce_mean(
            tf.cast(tf.equal(tf.cast(y_true, tf.float32), tf.round(y_pred)), tf.float32), axis=-1
        )

    def weighted_bce(w):

        def loss(y_true, y_pred):
            y_pred = tf.clip_by_value(y_pred, tf.keras.backend.epsilon(), 1 - tf.keras.backend.epsilon())
            return tf.reduce_mean(
                -(w * y_true * tf.math.log(y_pred) + (1 - y_true) * tf.math.log(1 - y_pred)), axis=-1
            )

        return loss

    class Focal(tf.keras.losses.Loss):
        def __init__(self, gamma=2.0, **kw):
            super().__init__(**kw)
            self.gamma = gamma

        def call(self, y_true, y_pred):
            p = tf.where(y_true == 1, y_pred, 1 - y_pred)
            return -tf.reduce_mean((1 - p) ** self.gamma * tf.math.log(p + 1e-07), axis=-1)

        def get_config(self):
            return {**super().get_config(), "gamma": self.gamma}

    X = make_values(12, 3)
    res = []
    for y in (
        (X[:, 0] > 0).astype("uint8"),
        X[:, 0] > 0,
        (X[:, :1] > 0).astype("int64"),
        (X[:, 0] > 0).astype("float64"),
    ):
        for loss in (weighted_bce(3.0), Focal(), Focal(gamma=1.5, reduction="sum")):
            m = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1, activation="sigmoid")])
            make_weights(m)
            m.compile(tf.keras.optimizers.SGD(0.3), loss, metrics=[BinaryTruePositives(), soft_acc])
            yy = y if y.ndim == 2 or not isinstance(loss, Focal) else y[:, None]
            h = m.fit(X, yy, epochs=2, batch_size=5, shuffle=False, verbose=0)
            res.append((h.history, m.evaluate(X, yy, verbose=0, return_dict=True), list(m.get_weights())))
    f = Focal()
    res.append((f(np.array([[1], [0]], "uint8"), np.array([[0.3], [0.4]])), f.get_config()))
    res.append(weighted_bce(2.0)(tf.constant([[1.0], [0.0]]), tf.constant([[0.3], [0.4]])))
    return res


def callbacks_that_change_the_learning_rate(tf):

    class LRFinder(tf.keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.rates = []
            self.losses = []

        def on_batch_end(self, batch, logs=None):
            self.rates.append(float(self.model.optimizer.learning_rate.numpy()))
            self.losses.append(logs["loss"])
            self.model.optimizer.learning_rate = self.model.optimizer.learning_rate * 1.1

    class OneCycle(tf.keras.callbacks.Callback):
        def __init__(self, iterations, max_lr=0.1):
            super().__init__()
            self.iteration, self.iterations, self.max_lr = (0, iterations, max_lr)

        def on_batch_begin(self, batch, logs):
            self.iteration += 1
            lr = self.max_lr * self.iteration / self.iterations
            self.model.optimizer.learning_rate.assign(lr)

    class Stop(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if logs is None:
                logs = {}
            if logs.get("loss") < 0.01 or epoch == 3:
                self.model.stop_training = True

    X = make_values(16, 4)
    Y = X @ make_values(4, 1, seed=9)

    def new():
        m = tf.keras.models.Sequential(
            [tf.keras.layers.Dense(5, activation="selu", input_dim=4), tf.keras.layers.Dense(1)]
        )
        make_weights(m)
        m.compile(
            loss="mse",
            optimizer=tf.keras.optimizers.SGD(learning_rate=0.01),
            metrics=["mae", tf.keras.metrics.RootMeanSquaredError()],
        )
        return m

    f = LRFinder()
    m = new()
    h = m.fit(X, Y, batch_size=4, epochs=2, callbacks=[f], verbose=0, shuffle=False)
    m2 = new()
    h2 = m2.fit(
        X,
        Y,
        batch_size=4,
        epochs=9,
        callbacks=[OneCycle(8), Stop()],
        verbose=0,
        shuffle=False,
        validation_split=0.25,
    )
    m3 = new()
    h3 = m3.fit(
        X,
        Y,
        epochs=6,
        verbose=0,
        shuffle=False,
        callbacks=[
            tf.keras.callbacks.LearningRateScheduler(lambda e, lr: lr * 0.5 if e > 2 else lr),
            tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=10.0, factor=0.3),
        ],
    )
    return (
        f.rates,
        f.losses,
        h.history,
        h2.history,
        h2.epoch,
        h3.history,
        float(m2.optimizer.learning_rate.numpy()),
    )


def centers_of_classes_and_mixed_examples(tf):
    rng = np.random.default_rng(0)
    X = make_values(12, 5)
    Y = np.eye(3, dtype="float32")[rng.integers(3, size=12)]
    lam = rng.beta(0.2, 0.2, size=(3, 4)).astype("float32")

    def mix(i, ds1, ds2):
        (x1, y1), (x2, y2) = (ds1, ds2)
        layer = tf.gather(tf.constant(lam), tf.cast(i, tf.int32))
        xl = tf.reshape(layer, (4, 1))
        return (x1 * xl + x2 * (1 - xl), y1 * xl + y2 * (1 - xl))

    a = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    b = tf.data.Dataset.from_tensor_slices((X[::-1], Y[::-1])).batch(4)
    ds = tf.data.Dataset.zip((a, b)).enumerate().map(lambda i, z: mix(i, z[0], z[1]))
    inp = tf.keras.Input((5,))
    f = tf.keras.layers.Dense(4, activation="gelu", name="feat")(inp)
    o = tf.keras.layers.Dense(3, activation="softmax")(f)
    m = tf.keras.Model(inp, [o, f])
    make_weights(m)
    centers = tf.Variable(make_values(3, 4, seed=4), trainable=False)
    opt = tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.CosineDecay(0.5, 9), momentum=0.9)
    cce = tf.keras.losses.CategoricalCrossentropy(label_smoothing=0.1)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as t:
            p, f = m(x, training=True)
            c = tf.gather(centers, tf.argmax(y, 1))
            cl = tf.reduce_mean(tf.reduce_sum(tf.square(f - c), 1))
            loss = cce(y, p) + 0.1 * cl
        g = t.gradient(loss, m.trainable_variables)
        g, n = tf.clip_by_global_norm(g, 1.0)
        opt.apply_gradients(zip(g, m.trainable_variables, strict=False))
        lab = tf.argmax(y, 1)
        d = 0.5 * (tf.gather(centers, lab) - f)
        centers.assign(tf.tensor_scatter_nd_sub(centers, lab[:, None], d))
        return (loss, n)

    return ([step(x, y) for _ in range(2) for x, y in ds], centers, opt.learning_rate)


def a_layer_normalized_by_its_spectrum(tf):

    class SpectralNormalization(
        tf.keras.layers.Wrapper if hasattr(tf.keras.layers, "Wrapper") and False else tf.keras.layers.Layer
    ):
        def __init__(self, layer, iteration=1, eps=1e-12, **kw):
            super().__init__(**kw)
            self.layer, self.iteration, self.eps = (layer, iteration, eps)

        def build(self, input_shape):
            if not self.layer.built:
                self.layer.build(input_shape)
            self.w = self.layer.kernel
            self.u = self.add_weight(
                shape=(1, self.w.shape[-1]),
                initializer=tf.keras.initializers.TruncatedNormal(stddev=0.02),
                trainable=False,
                name="sn_u",
            )
            super().build(input_shape)

        def call(self, inputs, training=None):
            w = tf.reshape(self.w, [-1, self.w.shape[-1]])
            u = self.u
            for _ in range(self.iteration):
                v = tf.math.l2_normalize(tf.matmul(u, w, transpose_b=True), epsilon=self.eps)
                u = tf.math.l2_normalize(tf.matmul(v, w), epsilon=self.eps)
            sigma = tf.matmul(tf.matmul(v, w), u, transpose_b=True)
            if training:
                self.u.assign(u)
            return self.layer(inputs) / sigma

    layer = SpectralNormalization(tf.keras.layers.Dense(4))
    layer(tf.zeros((1, 3)))
    make_weights(layer)
    opt = tf.keras.optimizers.SGD(0.1)
    x = tf.constant(make_values(5, 3))

    @tf.function
    def step(x):
        with tf.GradientTape() as t:
            with tf.GradientTape() as t2:
                t2.watch(x)
                y = layer(x, training=True)
            g = t2.gradient(y, x)
            loss = tf.reduce_mean((tf.sqrt(tf.reduce_sum(g**2, axis=1) + 1e-12) - 1.0) ** 2) + tf.reduce_mean(
                y**2
            )
        v = layer.trainable_variables
        opt.apply_gradients(zip(t.gradient(loss, v), v, strict=False))
        return loss

    return ([step(x) for _ in range(3)], list(layer.get_weights()))
