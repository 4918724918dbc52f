"""Sequences with attention, positions and states of ones own, and pieces that training loops use."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def pieces_of_ones_own(tf):
    K = tf.keras

    def my_softplus(z):
        return tf.math.log(1.0 + tf.exp(z))

    def my_glorot(shape, dtype=tf.float32):
        return tf.ones(shape, dtype=dtype) * tf.sqrt(2.0 / (shape[0] + shape[1]))

    def my_l1(weights):
        return tf.reduce_sum(tf.abs(0.01 * weights))

    def my_pos(weights):
        return tf.where(weights < 0.0, tf.zeros_like(weights), weights)

    layer = K.layers.Dense(
        1,
        activation=my_softplus,
        kernel_initializer=my_glorot,
        kernel_regularizer=my_l1,
        kernel_constraint=my_pos,
    )

    class MyL1(K.regularizers.Regularizer):
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, weights):
            return tf.reduce_sum(tf.abs(self.factor * weights))

        def get_config(self):
            return {"factor": self.factor}

    class HuberMetric(K.metrics.Metric):
        def __init__(self, threshold=1.0, **kwargs):
            super().__init__(**kwargs)
            self.threshold = threshold
            self.total = self.add_weight(name="total", initializer="zeros")
            self.count = self.add_weight(name="count", initializer="zeros")

        def huber_fn(self, y_true, y_pred):
            error = y_true - y_pred
            small = tf.abs(error) < self.threshold
            return tf.where(
                small, tf.square(error) / 2, self.threshold * tf.abs(error) - self.threshold**2 / 2
            )

        def update_state(self, y_true, y_pred, sample_weight=None):
            m = self.huber_fn(y_true, y_pred)
            self.total.assign_add(tf.reduce_sum(m))
            self.count.assign_add(tf.cast(tf.size(y_true), tf.float32))

        def result(self):
            return self.total / self.count

        def get_config(self):
            return {**super().get_config(), "threshold": self.threshold}

    class MyDense(K.layers.Layer):
        def __init__(self, units, activation=None, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.activation = K.activations.get(activation)

        def build(self, batch_input_shape):
            self.kernel = self.add_weight(
                name="kernel", shape=[batch_input_shape[-1], self.units], initializer="glorot_normal"
            )
            self.bias = self.add_weight(name="bias", shape=[self.units], initializer="zeros")
            super().build(batch_input_shape)

        def call(self, X):
            return self.activation(X @ self.kernel + self.bias)

        def compute_output_shape(self, batch_input_shape):
            return tf.TensorShape([*list(batch_input_shape)[:-1], self.units])

        def get_config(self):
            return {
                **super().get_config(),
                "units": self.units,
                "activation": K.activations.serialize(self.activation),
            }

    model = K.Sequential(
        [
            K.Input((3,)),
            MyDense(4, activation="relu"),
            layer,
            K.layers.Dense(1, kernel_regularizer=MyL1(0.02)),
        ]
    )
    make_weights(model)
    model.compile(
        loss=K.losses.Huber(1.0),
        optimizer=K.optimizers.Nadam(0.01),
        metrics=[HuberMetric(0.8), "mae", "RootMeanSquaredError"],
    )
    x = make_values(20, 3)
    y = make_values(20, 1, seed=9)
    h = model.fit(x, y, epochs=2, batch_size=5, shuffle=False, verbose=0, validation_data=(x[:6], y[:6]))
    c = model.layers[0].get_config()
    return (
        dict(h.history.items()),
        sorted(c),
        c["activation"],
        tuple(model.layers[0].compute_output_shape((None, 3))),
        [v.name for v in model.variables],
        model.evaluate(x, y, verbose=0, return_dict=True),
    )


def contrastive_and_triplet_losses(tf):
    L = tf.keras.layers
    x = make_values(8, 5)
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    enc = tf.keras.Sequential([tf.keras.Input((5,)), L.Dense(6, "relu"), L.Dense(3), L.UnitNormalization()])
    make_weights(enc)

    class SupCon(tf.keras.losses.Loss):
        def __init__(self, t=0.5, name=None):
            super().__init__(name=name)
            self.t = t

        def __call__(self, labels, f, sample_weight=None):
            fn = tf.math.l2_normalize(f, axis=1)
            logits = tf.divide(tf.matmul(fn, tf.transpose(fn)), self.t)
            labels = tf.reshape(labels, (-1, 1))
            mask = tf.cast(tf.equal(labels, tf.transpose(labels)), tf.float32)
            mask = tf.linalg.set_diag(mask, tf.zeros(tf.shape(mask)[0]))
            lp = logits - tf.reduce_logsumexp(
                tf.linalg.set_diag(logits, -1000000000.0 * tf.ones(8)), axis=1, keepdims=True
            )
            return -tf.reduce_mean(tf.reduce_sum(mask * lp, 1) / tf.maximum(tf.reduce_sum(mask, 1), 1.0))

    def batch_hard(y, e, m=0.2):
        d = tf.reduce_sum(tf.square(e[:, None] - e[None]), -1)
        d = tf.sqrt(tf.maximum(d, 1e-12))
        same = tf.equal(y[:, None], y[None])
        hp = tf.reduce_max(tf.where(same, d, 0.0), 1)
        hn = tf.reduce_min(tf.where(same, float("inf"), d), 1)
        return tf.reduce_mean(tf.nn.relu(hp - hn + m))

    out = []
    opt = tf.keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True)
    for f in (SupCon(), lambda a, b: batch_hard(tf.constant(a), b)):
        for _ in range(2):
            with tf.GradientTape() as tape:
                e = enc(x, training=True)
                found = f(y, e)
            g = tape.gradient(found, enc.trainable_weights)
            g = [tf.clip_by_norm(q, 1.0) for q in g]
            opt.apply_gradients(zip(g, enc.trainable_weights, strict=False))
            out.append([found, g])

    class Siam(tf.keras.Model):
        def __init__(self, e):
            super().__init__()
            self.e = e
            self.lt = tf.keras.metrics.Mean(name="loss")

        def call(self, i):
            a, p, n = i
            a, p, n = (self.e(a), self.e(p), self.e(n))
            return (tf.reduce_sum(tf.square(a - p), -1), tf.reduce_sum(tf.square(a - n), -1))

        def _loss(self, d):
            ap, an = self(d)
            return tf.maximum(ap - an + 0.5, 0.0)

        def train_step(self, d):
            with tf.GradientTape() as t:
                found = self._loss(d)
            self.optimizer.apply_gradients(
                zip(t.gradient(found, self.e.trainable_weights), self.e.trainable_weights, strict=False)
            )
            self.lt.update_state(found)
            return {"loss": self.lt.result()}

        def test_step(self, d):
            self.lt.update_state(self._loss(d))
            return {"loss": self.lt.result()}

        @property
        def metrics(self):
            return [self.lt]

    s = Siam(enc)
    s.compile(optimizer=tf.keras.optimizers.Adam(0.01), weighted_metrics=[])
    ds = (
        tf.data.Dataset.zip(
            (
                tf.data.Dataset.from_tensor_slices(x),
                tf.data.Dataset.from_tensor_slices(x[::-1].copy()),
                tf.data.Dataset.from_tensor_slices(np.roll(x, 2, 0)),
            )
        )
        .batch(3, drop_remainder=False)
        .prefetch(2)
    )
    h = s.fit(ds, epochs=2, validation_data=ds.take(1), verbose=0)
    return (out, h.history)


def positions_of_a_table(tf):
    L = tf.keras.layers

    class Pos(L.Layer):
        def __init__(self, max_length, embed_size, dtype=tf.float32, **kw):
            super().__init__(dtype=dtype, **kw)
            p, i = np.meshgrid(np.arange(max_length), 2 * np.arange(embed_size // 2))
            pos = np.empty((1, max_length, embed_size))
            pos[0, :, ::2] = np.sin(p / 10000 ** (i / embed_size)).T
            pos[0, :, 1::2] = np.cos(p / 10000 ** (i / embed_size)).T
            self.pos_encodings = tf.constant(pos.astype("float32"))
            self.supports_masking = True

        def call(self, inputs):
            return inputs + self.pos_encodings[:, : tf.shape(inputs)[1]]

    _N, T, H = (1, 8, 2)
    ids = tf.keras.Input((None,), dtype="int32")
    z = L.Embedding(10, 4, mask_zero=True)(ids)
    z = Pos(T, 4)(z)
    skip = z
    z = L.MultiHeadAttention(H, 4)(z, value=z)
    z = L.LayerNormalization()(L.Add()([z, skip]))
    skip = z
    z = L.Dense(4, activation="relu")(z)
    z = L.Dense(4)(z)
    z = L.LayerNormalization()(L.Add()([z, skip]))
    m = tf.keras.Model(ids, L.Dense(3)(L.GlobalAveragePooling1D()(z)))
    make_weights(m)
    return (m(np.array([[1, 2, 3, 0], [4, 0, 0, 0]])), m(np.array([[1, 2, 3, 0, 0, 0], [4, 0, 0, 0, 0, 9]])))


def positions_that_are_trained(tf):
    L = tf.keras.layers

    class LearnedPos(L.Layer):
        def __init__(self, n, **kw):
            super().__init__(**kw)
            self.n = n

        def build(self, s):
            self.w = self.add_weight(name="pos", shape=(self.n, s[-1]), initializer="ones")

        def call(self, x):
            return x + self.w[: tf.shape(x)[1]]

    i = tf.keras.Input((None, 3))
    m = tf.keras.Model(i, L.Conv1D(2, 2)(LearnedPos(7)(i)))
    make_weights(m)
    return m(make_values(2, 5, 3))


def an_encoder_a_decoder_and_attention(tf):
    L = tf.keras.layers
    enc_in = tf.keras.Input((None,), dtype="int32")
    dec_in = tf.keras.Input((None,), dtype="int32")
    e = L.Embedding(9, 3, mask_zero=True)
    d = L.Embedding(9, 3, mask_zero=True)
    enc = L.Bidirectional(L.LSTM(2, return_sequences=True, return_state=True))
    eo, *st = enc(e(enc_in))
    st = [L.Concatenate()([st[0], st[2]]), L.Concatenate()([st[1], st[3]])]
    do = L.LSTM(4, return_sequences=True)(d(dec_in), initial_state=st)
    att = L.Attention()([do, eo])
    out = L.Dense(9, activation="softmax")(L.Concatenate()([att, do]))
    m = tf.keras.Model([enc_in, dec_in], [out])
    make_weights(m)
    m.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    a = np.array([[3, 4, 5, 0, 0], [1, 2, 3, 4, 5], [8, 1, 0, 0, 0]])
    b = np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0], [2, 8, 1, 3, 0]])
    t = np.concatenate([b[:, 1:], np.zeros((3, 1), int)], 1)
    h = m.fit((a, b), t, epochs=2, batch_size=2, verbose=0, shuffle=False)
    return (h.history, m.predict((a, b), verbose=0), m.evaluate((a, b), t, verbose=0))
