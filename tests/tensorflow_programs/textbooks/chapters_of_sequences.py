"""Chapters of textbooks on sequences: texts, series and masks."""

import numpy as np

from tensorflow_programs.generative_models import make_values
from tensorflow_programs.textbooks.chapters_with_losses import make_weights


def a_character_model_with_states(tf):
    text = "to be or not to be that is the question whether tis nobler "
    vocab = sorted(set(text))
    c2i = {c: i for i, c in enumerate(vocab)}
    ids = np.array([c2i[c] for c in text])
    ds = tf.data.Dataset.from_tensor_slices(ids)
    seqs = ds.batch(8 + 1, drop_remainder=True)

    def split(chunk):
        return (chunk[:-1], chunk[1:])

    dataset = seqs.map(split).batch(2, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    class MyModel(tf.keras.Model):
        def __init__(self, v, e, u):
            super().__init__()
            self.embedding = tf.keras.layers.Embedding(v, e)
            self.lstm = tf.keras.layers.LSTM(u, return_sequences=True, return_state=True)
            self.dense = tf.keras.layers.Dense(v)

        def call(self, inputs, states=None, return_state=False, training=False):
            x = self.embedding(inputs, training=training)
            x, h, c = self.lstm(x, initial_state=states, training=training)
            x = self.dense(x, training=training)
            return (x, [h, c]) if return_state else x

    m = MyModel(len(vocab), 5, 7)
    for x, _y in dataset.take(1):
        m(x)
    make_weights(m)
    m.compile(
        optimizer=tf.keras.optimizers.SGD(0.5, momentum=0.9, nesterov=True, clipnorm=1.0),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    h = m.fit(dataset, epochs=3, verbose=0)
    states, ch, out = (None, tf.constant([[c2i["t"]]]), [])
    for _ in range(5):
        p, states = m(ch, states=states, return_state=True)
        p = p[:, -1, :] / 1.0
        mask = np.zeros(len(vocab), "float32")
        mask[0] = -np.inf
        p = p + mask
        ch = tf.argmax(p, axis=-1)[:, None]
        out.append(vocab[int(ch[0, 0])])
    return (
        h.history,
        "".join(out),
        tf.exp(m.evaluate(dataset, verbose=0)),
        dataset.element_spec[0].shape,
        len(dataset),
    )


def a_forecast_that_feeds_back(tf):

    class FeedBack(tf.keras.Model):
        def __init__(self, units, out_steps):
            super().__init__()
            self.out_steps = out_steps
            self.lstm_cell = tf.keras.layers.LSTMCell(units)
            self.lstm_rnn = tf.keras.layers.RNN(self.lstm_cell, return_state=True)
            self.dense = tf.keras.layers.Dense(3)

        def warmup(self, inputs):
            x, *state = self.lstm_rnn(inputs)
            return (self.dense(x), state)

        def call(self, inputs, training=None):
            predictions = []
            prediction, state = self.warmup(inputs)
            predictions.append(prediction)
            for _n in range(1, self.out_steps):
                x = prediction
                x, state = self.lstm_cell(x, states=state, training=training)
                prediction = self.dense(x)
                predictions.append(prediction)
            predictions = tf.stack(predictions)
            return tf.transpose(predictions, [1, 0, 2])

    m = FeedBack(5, 4)
    x = make_values(6, 7, 3)
    m(x)
    make_weights(m)
    m.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.1, clipvalue=0.5))
    h = m.fit(x, make_values(6, 4, 3, seed=8), epochs=3, batch_size=3, shuffle=False, verbose=0)

    class R(tf.keras.Model):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def call(self, i, *a, **k):
            return i + self.model(i, *a, **k)

    r = R(
        tf.keras.Sequential(
            [
                tf.keras.layers.LSTM(3, return_sequences=True),
                tf.keras.layers.Dense(3, kernel_initializer=tf.initializers.zeros()),
            ]
        )
    )
    return (h.history, m(x), r(x))


def models_of_a_time_series(tf):

    class WindowGenerator:
        def __init__(self, w, lw, shift, data):
            self.w, self.lw, self.shift = (w, lw, shift)
            self.total = w + shift
            self.data = data
            self.input_slice = slice(0, w)
            self.label_start = self.total - lw
            self.labels_slice = slice(self.label_start, None)

        def split_window(self, f):
            i = f[:, self.input_slice, :]
            layer = f[:, self.labels_slice, :]
            layer = tf.stack([layer[:, :, n] for n in (0, 2)], axis=-1)
            i.set_shape([None, self.w, None])
            layer.set_shape([None, self.lw, None])
            return (i, layer)

        def make(self):
            ds = tf.keras.utils.timeseries_dataset_from_array(
                data=self.data,
                targets=None,
                sequence_length=self.total,
                sequence_stride=1,
                shuffle=False,
                batch_size=4,
            )
            return ds.map(self.split_window)

    w = WindowGenerator(6, 1, 1, make_values(30, 3))

    class Baseline(tf.keras.Model):
        def __init__(self, i=None):
            super().__init__()
            self.i = i

        def call(self, x):
            return (
                tf.gather(x[:, -1:, :], [0, 2], axis=-1)
                if self.i is None
                else x[:, :, self.i][:, :, tf.newaxis]
            )

    b = Baseline()
    b.compile(loss=tf.keras.losses.MeanSquaredError(), metrics=[tf.keras.metrics.MeanAbsoluteError()])
    out = [b.evaluate(w.make(), verbose=0)]
    for net in (
        lambda: tf.keras.Sequential(
            [tf.keras.layers.Conv1D(4, kernel_size=(6,), activation="relu"), tf.keras.layers.Dense(2)]
        ),
        lambda: tf.keras.Sequential(
            [
                tf.keras.layers.LSTM(4, return_sequences=False),
                tf.keras.layers.Dense(2),
                tf.keras.layers.Reshape([1, -1]),
            ]
        ),
        lambda: tf.keras.Sequential(
            [
                tf.keras.layers.Lambda(lambda z: z[:, -3:, :]),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(2, kernel_initializer=tf.initializers.zeros()),
                tf.keras.layers.Reshape([1, 2]),
            ]
        ),
    ):
        m = net()
        ds = w.make()
        for x, _y in ds.take(1):
            m(x)
        make_weights(m)
        m.compile(
            loss=tf.keras.losses.MeanSquaredError(),
            optimizer=tf.keras.optimizers.SGD(0.05),
            metrics=[tf.keras.metrics.MeanAbsoluteError()],
        )
        es = tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, mode="min")
        h = m.fit(ds, epochs=3, validation_data=w.make(), callbacks=[es], verbose=0)
        out += [h.history, m.evaluate(w.make(), verbose=0)]
    return out


def a_text_classifier_in_both_directions(tf):
    L = tf.keras.layers
    m = tf.keras.Sequential(
        [
            L.Input((None,)),
            L.Embedding(20, 4, mask_zero=True),
            L.Bidirectional(L.LSTM(3, return_sequences=True)),
            L.Bidirectional(L.LSTM(2)),
            L.Dense(4, activation="relu"),
            L.Dropout(0.0),
            L.Dense(1),
        ]
    )
    make_weights(m)
    rng = np.random.default_rng(1)
    X = rng.integers(1, 20, size=(8, 7))
    X[0, 4:] = 0
    X[3, 2:] = 0
    Y = rng.integers(2, size=8)
    m.compile(
        loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.SGD(0.2),
        metrics=["accuracy", tf.keras.metrics.AUC(from_logits=True)],
    )
    h = m.fit(
        X,
        Y,
        epochs=2,
        batch_size=4,
        shuffle=False,
        verbose=0,
        validation_data=(X, Y),
        validation_steps=1,
        class_weight={0: 1.0, 1: 2.5},
    )
    padded = np.concatenate([X[:1], np.zeros((1, 10), int)], 1)
    return (h.history, m.predict(X, verbose=0), m.predict(padded, verbose=0), m.predict(X[:1], verbose=0))


def padded_rows_and_their_masks(tf):
    raw = [[711, 632, 71], [73, 8, 3215, 55, 927], [83, 91, 1, 645, 1253, 927]]
    padded = tf.keras.preprocessing.sequence.pad_sequences(raw, padding="post")
    pp = tf.keras.utils.pad_sequences(raw, maxlen=4, truncating="post", value=-1)
    emb = tf.keras.layers.Embedding(
        input_dim=5000,
        output_dim=3,
        mask_zero=True,
        embeddings_initializer=tf.keras.initializers.RandomUniform(seed=1),
    )
    o = emb(padded)
    E = make_values(5000, 3)
    emb.set_weights([E])
    o = emb(padded)
    mask = emb.compute_mask(padded)
    ml = tf.keras.layers.Masking()
    um = tf.cast(tf.tile(tf.expand_dims(padded, axis=-1), [1, 1, 3]), tf.float32)
    layer = tf.keras.layers.LSTM(4)
    b = tf.keras.layers.Bidirectional(tf.keras.layers.GRU(2, return_sequences=True))
    layer(o)
    b(o)
    make_weights(layer, b)

    class TemporalSplit(tf.keras.layers.Layer):
        def call(self, inputs):
            return tf.split(inputs, 2, axis=1)

        def compute_mask(self, inputs, mask=None):
            if mask is None:
                return None
            return tf.split(mask, 2, axis=1)

    class TemporalSoftmax(tf.keras.layers.Layer):
        def __init__(self, **kw):
            super().__init__(**kw)
            self.supports_masking = True

        def call(self, inputs, mask=None):
            bm = tf.expand_dims(tf.cast(mask, "float32"), -1)
            ie = tf.exp(inputs) * bm
            return ie / tf.reduce_sum(ie * bm, axis=1, keepdims=True)

    i = tf.keras.Input((None,), dtype="int32")
    h = emb(i)
    h = b(h)
    h = tf.keras.layers.Dense(1)(h)
    m = tf.keras.Model(i, TemporalSoftmax()(h))
    make_weights(m.layers[-2])
    return (
        padded,
        pp,
        mask,
        layer(o),
        layer(emb(padded), mask=mask),
        b(emb(padded)),
        m(padded),
        ml.compute_mask(um),
        layer.units,
        tf.sequence_mask([1, 3], 4),
        tf.boolean_mask(padded, padded > 100),
    )
