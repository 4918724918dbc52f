"""Layers, cells, losses and schedules in the manner of books on deep learning."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_layer_normalized_recurrent_cell(tf):

    class Cell(tf.keras.layers.Layer):
        def __init__(self, units, activation="tanh", **kw):
            super().__init__(**kw)
            self.state_size = units
            self.output_size = units
            self.simple_rnn_cell = tf.keras.layers.SimpleRNNCell(units, activation=None)
            self.layer_norm = tf.keras.layers.LayerNormalization()
            self.activation = tf.keras.activations.get(activation)

        def call(self, inputs, states):
            outputs, _ = self.simple_rnn_cell(inputs, states)
            n = self.activation(self.layer_norm(outputs))
            return (n, [n])

    m = tf.keras.Sequential(
        [
            tf.keras.Input((None, 2)),
            tf.keras.layers.RNN(Cell(5), return_sequences=True),
            tf.keras.layers.RNN(Cell(4), go_backwards=True),
            tf.keras.layers.Dense(1),
        ]
    )
    x = make_values(10, 7, 2)
    m(x)
    make_weights(m)
    m.compile(loss="mse", optimizer="nadam", metrics=["mae"])
    h = m.fit(x, x[:, :, 0].sum(1), epochs=2, batch_size=4, shuffle=False, verbose=0)
    return (h.history, m.predict(x[:2, :5], verbose=0))


def a_sequence_to_sequence_forecast(tf):
    m = tf.keras.Sequential([tf.keras.Input((None, 1))])
    for rate in (1, 2, 4) * 2:
        m.add(
            tf.keras.layers.Conv1D(
                filters=4, kernel_size=2, padding="causal", activation="relu", dilation_rate=rate
            )
        )
    m.add(tf.keras.layers.Conv1D(filters=3, kernel_size=1))
    make_weights(m)

    def last_mse(y, p):
        return tf.keras.losses.MSE(y[:, -1], p[:, -1])

    m.compile(
        loss="mse",
        optimizer=tf.keras.optimizers.RMSprop(0.01, momentum=0.9, centered=True),
        metrics=[last_mse],
    )
    s = np.sin(np.arange(15)[None, :] * 0.3 + np.arange(8)[:, None]).astype(np.float32)
    x = s[:, :12, None]
    y = np.stack([s[:, i : i + 12] for i in (1, 2, 3)], -1)
    h = m.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0)
    return (h.history, m.predict(x[:1], verbose=0))


def a_tied_autoencoder(tf):

    class DenseTranspose(tf.keras.layers.Layer):
        def __init__(self, dense, activation=None, **kw):
            super().__init__(**kw)
            self.dense = dense
            self.activation = tf.keras.activations.get(activation)

        def build(self, shape):
            self.biases = self.add_weight(
                name="bias", shape=[self.dense.weights[0].shape[0]], initializer="zeros"
            )
            super().build(shape)

        def call(self, x):
            return self.activation(tf.matmul(x, self.dense.weights[0], transpose_b=True) + self.biases)

    class KL(tf.keras.regularizers.Regularizer):
        def __init__(self, weight, target):
            self.weight, self.target = (weight, target)

        def __call__(self, inputs):
            p = tf.reduce_mean(inputs, axis=0)
            k = tf.keras.losses.KLD
            return self.weight * (k(self.target, p) + k(1.0 - self.target, 1.0 - p))

    d1 = tf.keras.layers.Dense(5, activation="relu")
    d2 = tf.keras.layers.Dense(3, activation="sigmoid", activity_regularizer=KL(0.005, 0.1))
    m = tf.keras.Sequential(
        [
            tf.keras.Input((2, 3)),
            tf.keras.layers.Flatten(),
            d1,
            d2,
            DenseTranspose(d2, activation="relu"),
            DenseTranspose(d1),
            tf.keras.layers.Reshape([2, 3]),
        ]
    )
    make_weights(m)
    m.compile(loss="mse", optimizer=tf.keras.optimizers.Nadam(0.01))
    x = make_values(12, 2, 3)
    h = m.fit(x, x, epochs=3, batch_size=5, shuffle=False, verbose=0)
    return (
        h.history,
        m.evaluate(x, x, verbose=0),
        m.predict(x[:1], verbose=0),
        [w.shape for w in m.trainable_weights],
    )


def a_monte_carlo_of_alpha_dropout_in_inference(tf):
    m = tf.keras.Sequential(
        [
            tf.keras.Input((3,)),
            tf.keras.layers.Dense(4, activation="selu", kernel_initializer="lecun_normal"),
            tf.keras.layers.AlphaDropout(0.2),
            tf.keras.layers.GaussianNoise(0.3),
            tf.keras.layers.Dense(1),
        ]
    )
    make_weights(m)
    x = make_values(5, 3)
    return (m(x), m.predict(x, verbose=0), m.count_params())


def layers_of_regularization(tf):
    L = tf.keras.layers
    m = tf.keras.Sequential(
        [
            tf.keras.Input((3,)),
            L.Dense(4, "selu"),
            L.ActivityRegularization(l1=0.1, l2=0.2),
            L.AlphaDropout(0.0),
            L.Dense(1),
        ]
    )
    make_weights(m)
    m.compile("sgd", "mse")
    x = make_values(6, 3)
    h = m.fit(x, x[:, 0], batch_size=4, epochs=2, shuffle=False, verbose=0)
    c = (m.layers[1].get_config(), m.layers[2].get_config())
    for q in c:
        q.pop("name")
        q.pop("dtype")
        q.pop("noise_shape", 0)
    return (
        h.history,
        m.evaluate(x, x[:, 0], verbose=0),
        c,
        tf.keras.Sequential.from_config(m.get_config()).layers[1].l2,
    )


def scalar_targets(tf):
    K = tf.keras
    p = np.abs(make_values(4, 3)) + 0.1
    return (
        [
            f(np.float32(t), p)
            for f in (K.losses.MSE, K.losses.MAE, K.losses.KLD, K.losses.MSLE, K.losses.MAPE)
            for t in (0.0, 0.5)
        ],
        K.losses.MeanSquaredError()(1.0, p),
        K.losses.Huber()(0.0, p),
        K.losses.LogCosh()(0.0, p),
        K.losses.KLDivergence()(np.float32(0.3), p),
        K.losses.Poisson()(1.0, p),
    )


def label_smoothing_and_focal_losses(tf):
    y = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
    z = make_values(4, 3, scale=2.0)
    out = []
    for loss in (
        tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
        tf.keras.losses.CategoricalFocalCrossentropy(
            from_logits=True, alpha=[0.2, 0.3, 0.5], gamma=1.5, label_smoothing=0.05
        ),
        tf.keras.losses.BinaryFocalCrossentropy(
            apply_class_balancing=True, alpha=0.3, gamma=3.0, from_logits=True, label_smoothing=0.1
        ),
        tf.keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.2, reduction="none"),
        tf.keras.losses.KLDivergence(),
        tf.keras.losses.Tversky(alpha=0.3, beta=0.7),
        tf.keras.losses.Dice(axis=(1,)),
        tf.keras.losses.CosineSimilarity(axis=0),
        tf.keras.losses.Circle(gamma=4.0),
    ):
        v = tf.Variable(z)
        with tf.GradientTape() as tape:
            if type(loss).__name__ == "Circle":
                found = loss(np.array([0, 1, 0, 1]), tf.math.l2_normalize(v, axis=1))
            elif type(loss).__name__ in ("KLDivergence", "Tversky", "Dice"):
                found = loss(y, tf.nn.softmax(v))
            else:
                found = loss(
                    y,
                    v,
                    sample_weight=None
                    if "Dice" in type(loss).__name__
                    else np.array([1, 2, 0.5, 1], np.float32)
                    if "Cosine" not in type(loss).__name__
                    else None,
                )
        out.append([found, tape.gradient(found, v)])
    return out


def warmup_and_cosine_restarts(tf):

    class WarmUp(tf.keras.optimizers.schedules.LearningRateSchedule):
        def __init__(self, initial, decay_fn, warmup_steps, power=1.0):
            self.initial, self.decay_fn, self.warmup_steps, self.power = (
                initial,
                decay_fn,
                warmup_steps,
                power,
            )

        def __call__(self, step):
            g = tf.cast(step, tf.float32)
            w = tf.cast(self.warmup_steps, tf.float32)
            return tf.cond(
                g < w,
                lambda: self.initial * tf.math.pow(g / w, self.power),
                lambda: self.decay_fn(step - self.warmup_steps),
            )

        def get_config(self):
            return {"initial": self.initial, "warmup_steps": self.warmup_steps, "power": self.power}

    base = tf.keras.optimizers.schedules.CosineDecayRestarts(0.1, 5, t_mul=1.5, m_mul=0.8, alpha=0.1)
    s = WarmUp(0.1, base, 3)
    v = tf.Variable([1.0, -2.0])
    o = tf.keras.optimizers.SGD(s, momentum=0.5, nesterov=True, weight_decay=0.01)
    out = []
    for _ in range(12):
        with tf.GradientTape() as t:
            found = tf.reduce_sum(v**2)
        o.apply_gradients([(t.gradient(found, v), v)])
        out.append([v.numpy(), o.learning_rate])
    c = tf.keras.optimizers.schedules.CosineDecay(0.0, 6, alpha=0.05, warmup_target=0.2, warmup_steps=4)
    p = tf.keras.optimizers.schedules.PolynomialDecay(0.1, 4, 0.01, power=2.0, cycle=True)
    pc = tf.keras.optimizers.schedules.PiecewiseConstantDecay([2, 5], [1.0, 0.5, 0.1])
    it = tf.keras.optimizers.schedules.InverseTimeDecay(0.1, 2, 0.5, staircase=True)
    return (out, [[f(i) for f in (c, p, pc, it)] for i in range(12)])


def an_exponential_average_of_weights(tf):
    m = tf.keras.Sequential(
        [tf.keras.Input((2,)), tf.keras.layers.Dense(3, "relu"), tf.keras.layers.Dense(1)]
    )
    make_weights(m)
    o = tf.keras.optimizers.AdamW(
        0.02, weight_decay=0.1, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=3, clipnorm=0.5
    )
    o.exclude_from_weight_decay(var_names=["bias"])
    m.compile(o, "mae")
    x = make_values(16, 2)
    h = m.fit(x, x.sum(1), batch_size=4, epochs=3, verbose=0, shuffle=False)
    return (h.history, m.get_weights())
