"""States of recurrent layers, patches of images and policies over several episodes."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def patches_of_a_vision_transformer(tf):
    L = tf.keras.layers

    class Patches(L.Layer):
        def __init__(self, p):
            super().__init__()
            self.p = p

        def call(self, im):
            b = tf.shape(im)[0]
            h, w, c = im.shape[1:]
            n = h // self.p
            k = w // self.p
            x = tf.reshape(im, (b, n, self.p, k, self.p, c))
            x = tf.transpose(x, [0, 1, 3, 2, 4, 5])
            return tf.reshape(x, (b, n * k, self.p * self.p * c))

    class PatchEncoder(L.Layer):
        def __init__(self, n, d):
            super().__init__()
            self.n = n
            self.projection = L.Dense(d)
            self.position_embedding = L.Embedding(n, d)

        def call(self, patch):
            return self.projection(patch) + self.position_embedding(
                tf.expand_dims(tf.range(start=0, limit=self.n, delta=1), 0)
            )

    i = tf.keras.Input((8, 8, 2))
    p = PatchEncoder(4, 6)(Patches(4)(i))
    x1 = L.LayerNormalization(epsilon=1e-06)(p)
    a = L.MultiHeadAttention(num_heads=2, key_dim=6, dropout=0.0)(x1, x1)
    x2 = L.Add()([a, p])
    x3 = L.LayerNormalization(epsilon=1e-06)(x2)
    x3 = L.Dense(6, activation=tf.nn.gelu)(x3)
    e = L.Add()([x3, x2])
    r = L.LayerNormalization(epsilon=1e-06)(e)
    r = L.Flatten()(r)
    o = L.Dense(3)(r)
    m = tf.keras.Model(inputs=i, outputs=o)
    make_weights(m)
    m.compile(
        optimizer=tf.keras.optimizers.AdamW(learning_rate=0.001, weight_decay=0.0001),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[
            tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
            tf.keras.metrics.SparseTopKCategoricalAccuracy(2, name="top-2"),
        ],
    )
    h = m.fit(
        make_values(6, 8, 8, 2),
        np.arange(6) % 3,
        batch_size=3,
        epochs=2,
        shuffle=False,
        verbose=0,
        validation_split=0.34,
    )
    return h.history


def states_that_are_kept_and_given(tf):
    L = tf.keras.layers
    r = {}
    x = make_values(2, 6, 3)
    for C, k in ((L.GRU, 1), (L.LSTM, 2), (L.SimpleRNN, 1)):
        found = C(3, return_sequences=True, return_state=True, stateful=True)
        found.build((2, 3, 3))
        make_weights(found)
        found(x[:, :3])
        b = found(x[:, 3:])
        found.reset_state()
        c = found(x)
        r[C.__name__] = [b[0], c[0][:, 3:], c[1:], len(found.states)]
        l2 = C(3, return_sequences=True, go_backwards=True)
        l2.build((2, 3, 3))
        l2.set_weights(found.get_weights()[:3])
        r[C.__name__ + "b"] = l2(x, mask=tf.constant([[True] * 4 + [False] * 2, [False, True] * 3]))
        cell = {"GRU": L.GRUCell, "LSTM": L.LSTMCell, "SimpleRNN": L.SimpleRNNCell}[C.__name__](3)
        cell.build((2, 3))
        cell.set_weights(found.get_weights()[:3])
        st = cell.get_initial_state(batch_size=2)
        o, st = cell(x[:, 0], st)
        r[C.__name__ + "c"] = [o, st, cell.state_size, cell.output_size]
        rnn = L.RNN(cell, return_sequences=True)
        r[C.__name__ + "r"] = rnn(x, initial_state=[tf.ones((2, 3))] * k)
    s = L.RNN([L.GRUCell(2), L.LSTMCell(3)], return_state=True)
    s.build((2, 6, 3))
    make_weights(s)
    z = s(x)
    r["stack"] = [z[0], len(z)]

    class RHN(L.Layer):
        def __init__(self, u, **kw):
            super().__init__(**kw)
            self.units = u
            self.state_size = u
            self.output_size = u

        def build(self, s):
            self.k = self.add_weight(shape=(s[-1], self.units), name="k")
            self.q = self.add_weight(shape=(self.units, self.units), name="q")
            self.built = True

        def call(self, x, states):
            h = tf.tanh(x @ self.k + states[0] @ self.q)
            return (h, [h])

        def get_initial_state(self, batch_size=None):
            return [tf.zeros((batch_size, self.units))]

    q = L.RNN(RHN(2), return_sequences=True)
    q.build((2, 6, 3))
    make_weights(q)
    r["own"] = q(x)
    b = L.Bidirectional(L.GRU(2), backward_layer=L.GRU(2, go_backwards=True), merge_mode="sum")
    b.build((2, 6, 3))
    make_weights(b)
    r["bi"] = b(x)
    t = L.TimeDistributed(L.Conv1D(2, 2))
    t.build((2, 3, 4, 2))
    make_weights(t)
    r["td"] = t(make_values(2, 3, 4, 2))
    return r


def reinforcement_of_several_episodes(tf):
    m = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Dense(5, activation="elu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    make_weights(m)
    lf = tf.keras.losses.binary_crossentropy
    obs0 = make_values(2, 5, 4)

    def play_one_step(obs, u):
        with tf.GradientTape() as tape:
            left = m(obs[np.newaxis])
            action = tf.constant([[u]]) > left
            y = tf.constant([[1.0]]) - tf.cast(action, tf.float32)
            loss = tf.reduce_mean(lf(y, left))
        return (tape.gradient(loss, m.trainable_variables), int(action[0, 0].numpy()))

    def discount(r, d):
        r = np.array(r, np.float64)
        for s in range(len(r) - 2, -1, -1):
            r[s] += r[s + 1] * d
        return r

    opt = tf.keras.optimizers.Nadam(learning_rate=0.01)
    acts = []
    for _it in range(2):
        allg, allr = ([], [])
        for ep in range(2):
            gs, rs = ([], [])
            for t in range(5):
                g, a = play_one_step(obs0[ep, t], 0.37 + 0.05 * t)
                gs.append(g)
                rs.append(float(a) + 1)
                acts.append(a)
            allg.append(gs)
            allr.append(rs)
        d = [discount(r, 0.9) for r in allr]
        f = np.concatenate(d)
        fin = [(q - f.mean()) / f.std() for q in d]
        means = []
        for i in range(len(m.trainable_variables)):
            means.append(
                tf.reduce_mean(
                    [fr * allg[e][s][i] for e, q in enumerate(fin) for s, fr in enumerate(q)], axis=0
                )
            )
        opt.apply_gradients(zip(means, m.trainable_variables, strict=False))
    return (acts, means, m.get_weights())
