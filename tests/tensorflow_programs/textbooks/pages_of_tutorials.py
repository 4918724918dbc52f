"""Models of TensorFlow's tutorials: endpoints, translation, images, texts and forecasts."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def an_endpoint_layer_with_losses_and_metrics(tf):

    class LogisticEndpoint(tf.keras.layers.Layer):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.loss_fn = tf.keras.losses.BinaryCrossentropy(from_logits=True)
            self.accuracy_metric = tf.keras.metrics.BinaryAccuracy(name="accuracy")

        def call(self, logits, targets=None, sample_weight=None):
            if targets is not None:
                loss = self.loss_fn(targets, logits, sample_weight)
                self.add_loss(loss)
                self.accuracy_metric.update_state(targets, logits, sample_weight)
            return tf.nn.softmax(logits)

    inputs = tf.keras.Input((3,), name="inputs")
    targets = tf.keras.Input((10,), name="targets")
    logits = tf.keras.layers.Dense(10)(inputs)
    preds = LogisticEndpoint(name="predictions")(logits, targets)
    m = tf.keras.Model(inputs=[inputs, targets], outputs=preds)
    make_weights(m)
    data = {"inputs": make_values(3, 3), "targets": np.eye(10, dtype=np.float32)[:3]}
    m.compile(optimizer="adam")
    h = m.fit(data, epochs=2, verbose=0)
    return (h.history, [x.name for x in m.metrics])


def a_variational_layer_with_kl_in_add_loss(tf):

    class Sampling(tf.keras.layers.Layer):
        def call(self, inputs):
            m, lv = inputs
            return m + tf.exp(lv / 2) * tf.constant(0.3)

    L = tf.keras.layers
    i = tf.keras.Input((4, 4, 1))
    z = L.Conv2D(3, 3, strides=2, padding="same", activation="relu")(i)
    z = L.Flatten()(z)
    mean, lv = (L.Dense(2)(z), L.Dense(2)(z))
    c = Sampling()([mean, lv])
    enc = tf.keras.Model(i, [mean, lv, c])
    di = tf.keras.Input((2,))
    x = L.Dense(12, activation="relu")(di)
    x = L.Reshape((2, 2, 3))(x)
    dec = tf.keras.Model(di, L.Conv2DTranspose(1, 3, strides=2, padding="same", activation="sigmoid")(x))

    class VAE(tf.keras.Model):
        def __init__(self, e, d, **kw):
            super().__init__(**kw)
            self.e, self.d = (e, d)

        def call(self, x):
            m, lv, c = self.e(x)
            self.add_loss(tf.reduce_mean(-0.5 * tf.reduce_sum(1 + lv - tf.exp(lv) - tf.square(m), -1)) / 16.0)
            return self.d(c)

    vae = VAE(enc, dec)
    x = np.abs(make_values(6, 4, 4, 1)).clip(0, 1)
    vae(x)
    make_weights(vae)
    vae.compile("rmsprop", "binary_crossentropy")
    h = vae.fit(x, x, epochs=2, batch_size=3, shuffle=False, verbose=0)
    return (h.history, vae.evaluate(x, x, verbose=0))


def a_translator_with_attention(tf):
    L = tf.keras.layers
    U = 6

    class Encoder(L.Layer):
        def __init__(self):
            super().__init__()
            self.emb = L.Embedding(11, U, mask_zero=True)
            self.rnn = L.Bidirectional(merge_mode="sum", layer=L.GRU(U, return_sequences=True))

        def call(self, x):
            return self.rnn(self.emb(x))

    class Cross(L.Layer):
        def __init__(self):
            super().__init__()
            self.mha = L.MultiHeadAttention(key_dim=U, num_heads=1)
            self.ln = L.LayerNormalization()
            self.add = L.Add()

        def call(self, x, context):
            out, scores = self.mha(query=x, value=context, return_attention_scores=True)
            self.last = tf.reduce_mean(scores, axis=1)
            return self.ln(self.add([x, out]))

    class Decoder(L.Layer):
        def __init__(self):
            super().__init__()
            self.emb = L.Embedding(9, U, mask_zero=True)
            self.rnn = L.GRU(U, return_sequences=True, return_state=True)
            self.att = Cross()
            self.out = L.Dense(9)

        def call(self, context, x, state=None, return_state=False):
            x = self.emb(x)
            x, state = self.rnn(x, initial_state=state)
            x = self.att(x, context)
            logits = self.out(x)
            return (logits, state) if return_state else logits

    class Translator(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = (Encoder(), Decoder())

        def call(self, inputs):
            context, x = inputs
            context = self.encoder(context)
            return self.decoder(context, x)

    def masked_loss(y, p):
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")(y, p)
        mask = tf.cast(y != 0, loss.dtype)
        return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)

    def masked_acc(y, p):
        p = tf.cast(tf.argmax(p, axis=-1), y.dtype)
        match = tf.cast(y == p, tf.float32)
        mask = tf.cast(y != 0, tf.float32)
        return tf.reduce_sum(match) / tf.reduce_sum(mask)

    rng = np.random.default_rng(3)
    c = rng.integers(1, 11, (8, 7))
    c[:, 5:] = 0
    c[2, 3:] = 0
    t = rng.integers(1, 9, (8, 6))
    t[:, 4:] = 0
    t[1, 2:] = 0
    m = Translator()
    m([c, t[:, :-1]])
    make_weights(m)
    m.compile("sgd", masked_loss, metrics=[masked_acc, masked_loss])
    h = m.fit([c, t[:, :-1]], t[:, 1:], epochs=2, batch_size=4, shuffle=False, verbose=0)
    tok = tf.ones((2, 1), tf.int64)
    state = None
    toks = []
    for _ in range(4):
        ctx = m.encoder(c[:2])  # anew: attention of Keras removes the mask of its arguments
        logits, state = m.decoder(ctx, tok, state, return_state=True)
        tok = tf.argmax(logits, axis=-1)
        toks.append(tok)
    return (h.history, tf.concat(toks, -1), m.decoder.att.last)


def siamese_triplets(tf):
    L = tf.keras.layers
    emb = tf.keras.Sequential(
        [tf.keras.Input((6,)), L.Dense(5, "relu", use_bias=False), L.BatchNormalization(), L.Dense(3)]
    )

    class Distance(L.Layer):
        def call(self, anchor, positive, negative):
            return (
                tf.reduce_sum(tf.square(anchor - positive), -1),
                tf.reduce_sum(tf.square(anchor - negative), -1),
            )

    a, p, n = (tf.keras.Input((6,), name=k) for k in ("anchor", "positive", "negative"))
    net = tf.keras.Model([a, p, n], Distance()(emb(a), emb(p), emb(n)))

    class Siamese(tf.keras.Model):
        def __init__(self, net, margin=0.5):
            super().__init__()
            self.net, self.margin = (net, margin)
            self.loss_tracker = tf.keras.metrics.Mean(name="loss")

        def call(self, x):
            return self.net(x)

        def train_step(self, data):
            with tf.GradientTape() as tape:
                loss = self._loss(data)
            g = tape.gradient(loss, self.net.trainable_weights)
            self.optimizer.apply_gradients(zip(g, self.net.trainable_weights, strict=True))
            self.loss_tracker.update_state(loss)
            return {"loss": self.loss_tracker.result()}

        def test_step(self, data):
            self.loss_tracker.update_state(self._loss(data))
            return {"loss": self.loss_tracker.result()}

        def _loss(self, data):
            ap, an = self.net(data)
            return tf.maximum(ap - an + self.margin, 0.0)

        @property
        def metrics(self):
            return [self.loss_tracker]

    make_weights(emb)
    emb.set_weights([abs(w) for w in emb.get_weights()])
    s = Siamese(net)
    s.compile(optimizer=tf.keras.optimizers.Adam(0.01), weighted_metrics=[])
    ds = tf.data.Dataset.zip(
        tuple(tf.data.Dataset.from_tensor_slices(make_values(9, 6, seed=i)) for i in range(3))
    ).batch(4)
    h = s.fit(ds, epochs=2, validation_data=ds.take(1), verbose=0)
    return h.history, emb.get_weights()[0], emb.get_weights()[5]  # the distances do not depend on shifts


def a_classifier_saved_and_cloned(tf):

    @tf.keras.utils.register_keras_serializable(package="Mine")
    class Scale(tf.keras.layers.Layer):
        def __init__(self, by=2.0, **kw):
            super().__init__(**kw)
            self.by = by

        def call(self, x):
            return self.by * x

        def get_config(self):
            return {**super().get_config(), "by": self.by}

    i = tf.keras.Input((3,))
    x = tf.keras.layers.Dense(
        4,
        activation="gelu",
        kernel_regularizer=tf.keras.regularizers.L1L2(0.01, 0.02),
        bias_constraint="non_neg",
    )(i)
    o = tf.keras.layers.Dense(2)(Scale(3.0)(x))
    m = tf.keras.Model(i, o)
    make_weights(m)
    again = tf.keras.Model.from_config(m.get_config())
    again.set_weights(m.get_weights())
    seq = tf.keras.models.clone_model(m)
    seq.set_weights(m.get_weights())
    js = tf.keras.models.model_from_json(m.to_json())
    js.set_weights(m.get_weights())
    x = make_values(2, 3)
    return (
        m(x),
        again(x),
        seq(x),
        js(x),
        again.losses,
        sum(again.losses),
        [found.__class__.__name__ for found in js.layers],
    )


def callbacks_with_schedules_and_lambdas(tf):
    m = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    make_weights(m)
    m.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    x = make_values(12, 2)
    y = x @ np.float32([[1.0], [-2.0]])
    seen = []

    class Finder(tf.keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            seen.append(sorted(self.params))

        def on_train_batch_end(self, batch, logs=None):
            lr = float(self.model.optimizer.learning_rate)
            self.model.optimizer.learning_rate.assign(lr * 1.1)
            seen.append([batch, lr, logs["loss"]])

        def on_epoch_end(self, epoch, logs=None):
            seen.append([epoch, sorted(logs)])

        def on_test_batch_end(self, batch, logs=None):
            seen.append(["t", batch, logs["loss"]])

        def on_predict_batch_end(self, batch, logs=None):
            seen.append(["p", batch, logs["outputs"]])

    cb = [
        Finder(),
        tf.keras.callbacks.LearningRateScheduler(lambda e, lr: lr * (0.5 if e else 1.0)),
        tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.2, patience=0, min_lr=0.001),
        tf.keras.callbacks.LambdaCallback(on_epoch_begin=lambda e, logs: seen.append(e)),
    ]
    h = m.fit(x, y, epochs=4, batch_size=5, shuffle=False, validation_split=0.25, callbacks=cb, verbose=0)
    m.predict(x[:3], batch_size=2, callbacks=[cb[0]], verbose=0)
    return (h.history, seen, h.epoch)


def a_text_classifier_of_convolutions(tf):
    L = tf.keras.layers
    i = tf.keras.Input((None,), dtype="int64")
    x = L.Embedding(20, 5)(i)
    x = L.Dropout(0.0)(x)
    x = L.SeparableConv1D(6, 3, padding="same", activation="relu")(x)
    x = L.MaxPooling1D(2)(x)
    x = L.Conv1D(4, 2, activation="relu")(x)
    a = L.GlobalMaxPooling1D()(x)
    b = L.GlobalAveragePooling1D()(x)
    x = L.concatenate([a, b])
    m = tf.keras.Model(i, L.Dense(3, "softmax")(x))
    make_weights(m)
    m.compile(
        "sgd",
        "sparse_categorical_crossentropy",
        metrics=["accuracy", tf.keras.metrics.SparseTopKCategoricalAccuracy(k=2)],
    )
    r = np.random.default_rng(4)
    x = r.integers(0, 20, (12, 9))
    y = r.integers(0, 3, 12)
    h = m.fit(x, y, epochs=2, batch_size=5, shuffle=False, class_weight={0: 1.0, 1: 3.0, 2: 0.5}, verbose=0)
    return (
        h.history,
        m.predict(x[:2, :6], verbose=0),
        m.evaluate(x, y, sample_weight=np.arange(12.0), verbose=0, return_dict=True),
    )


def a_vision_transformer_block(tf):
    L = tf.keras.layers

    class Patches(L.Layer):
        def __init__(self, size, **kw):
            super().__init__(**kw)
            self.size = size

        def call(self, images):
            b = tf.shape(images)[0]
            p = tf.transpose(tf.reshape(images, [b, 2, self.size, 2, self.size, 2]), [0, 1, 3, 2, 4, 5])
            p = tf.reshape(p, [b, 2, 2, 8])
            return tf.reshape(p, [b, -1, p.shape[-1]])

    class Encode(L.Layer):
        def __init__(self, n, d, **kw):
            super().__init__(**kw)
            self.n = n
            self.proj = L.Dense(d)
            self.pos = L.Embedding(n, d)

        def call(self, p):
            return self.proj(p) + self.pos(tf.range(0, self.n, 1))

    i = tf.keras.Input((4, 4, 2))
    p = Patches(2)(i)
    e = Encode(4, 6)(p)
    x1 = L.LayerNormalization(epsilon=1e-06)(e)
    at = L.MultiHeadAttention(num_heads=2, key_dim=3, dropout=0.0)(x1, x1)
    x2 = L.Add()([at, e])
    x3 = L.LayerNormalization(epsilon=1e-06)(x2)
    x3 = L.Dense(8, activation="gelu")(x3)
    x3 = L.Dense(6)(x3)
    y = L.Add()([x3, x2])
    m = tf.keras.Model(i, L.Dense(3)(L.Flatten()(y)))
    m(make_values(2, 4, 4, 2))
    make_weights(m)
    m.compile(
        tf.keras.optimizers.AdamW(0.01, weight_decay=0.01),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    h = m.fit(make_values(6, 4, 4, 2), np.arange(6) % 3, epochs=2, batch_size=3, shuffle=False, verbose=0)
    return (h.history, m.predict(make_values(2, 4, 4, 2), verbose=0))


def a_rolling_forecast_with_an_lstm_cell(tf):

    class FeedBack(tf.keras.Model):
        def __init__(self, units, out_steps, nf):
            super().__init__()
            self.out_steps = out_steps
            self.lstm_cell = tf.keras.layers.LSTMCell(units)
            self.lstm_rnn = tf.keras.layers.RNN(self.lstm_cell, return_state=True)
            self.dense = tf.keras.layers.Dense(nf)

        def warmup(self, inputs):
            x, *state = self.lstm_rnn(inputs)
            return (self.dense(x), state)

        def call(self, inputs, training=None):
            predictions = []
            prediction, state = self.warmup(inputs)
            predictions.append(prediction)
            for _n in range(1, self.out_steps):
                x, state = self.lstm_cell(prediction, states=state, training=training)
                prediction = self.dense(x)
                predictions.append(prediction)
            return tf.transpose(tf.stack(predictions), [1, 0, 2])

    data = np.cumsum(make_values(40, 2, scale=0.2), 0)
    ds = tf.keras.utils.timeseries_dataset_from_array(
        data=data, targets=None, sequence_length=9, sequence_stride=1, shuffle=False, batch_size=8
    )

    def split(f):
        i, found = (f[:, :6, :], f[:, 6:, :])
        i.set_shape([None, 6, None])
        found.set_shape([None, 3, None])
        return (i, found)

    ds = ds.map(split)
    m = FeedBack(4, 3, 2)
    m(data[None, :6])
    make_weights(m)
    m.compile(
        loss=tf.keras.losses.MeanSquaredError(),
        optimizer=tf.keras.optimizers.Adam(),
        metrics=[tf.keras.metrics.MeanAbsoluteError()],
    )
    h = m.fit(
        ds,
        epochs=2,
        validation_data=ds,
        callbacks=[tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, mode="min")],
        verbose=0,
    )
    return (h.history, m.evaluate(ds, verbose=0), m.predict(ds.take(1), verbose=0))
