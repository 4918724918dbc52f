"""Reinforcement learning, mixture densities and learning by gradients of gradients."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_mixture_density_network(tf):
    K = 3

    class MDN(tf.keras.layers.Layer):
        def __init__(self, k, **kw):
            super().__init__(**kw)
            self.k = k
            self.pi = tf.keras.layers.Dense(k)
            self.mu = tf.keras.layers.Dense(k)
            self.sigma = tf.keras.layers.Dense(k, activation=lambda x: tf.nn.elu(x) + 1.0 + 1e-07)

        def call(self, x):
            return tf.concat([self.pi(x), self.mu(x), self.sigma(x)], axis=-1)

    def nll(y, params):
        logits, mu, sigma = tf.split(params, 3, axis=-1)
        logp = -0.5 * tf.square((y - mu) / sigma) - tf.math.log(sigma) - 0.5 * np.log(2 * np.pi)
        return -tf.reduce_logsumexp(tf.nn.log_softmax(logits) + logp, axis=-1)

    x = make_values(32, 1)
    y = (np.sin(3 * x) + 0.1 * make_values(32, 1, seed=8)).astype(np.float32)
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(8, activation="tanh"), MDN(K)])
    make_weights(model)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.02), loss=nll)
    h = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    logits, mu, s = tf.split(model.predict(x[:4], verbose=0), 3, axis=-1)
    return (h.history["loss"], tf.reduce_sum(tf.nn.softmax(logits) * mu, -1), s)


def proximal_policy(tf):
    obs = make_values(24, 4)
    acts = np.random.default_rng(1).integers(0, 3, 24)
    rew = make_values(24, seed=2)
    done = (np.arange(24) % 8 == 7).astype(np.float32)
    actor = tf.keras.Sequential(
        [tf.keras.Input((4,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(3)]
    )
    critic = tf.keras.Sequential(
        [tf.keras.Input((4,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)]
    )
    make_weights(actor, critic)
    po, vo = (tf.keras.optimizers.Adam(0.003), tf.keras.optimizers.Adam(0.01))

    def logprobs(logits, a):
        return tf.reduce_sum(tf.one_hot(a, 3) * tf.nn.log_softmax(logits), axis=1)

    values = tf.squeeze(critic(obs), 1)
    nxt = tf.concat([values[1:], [0.0]], 0)
    deltas = rew + 0.99 * nxt * (1 - done) - values
    adv = tf.TensorArray(tf.float32, size=24)
    last = tf.constant(0.0)
    for t in tf.range(23, -1, -1):
        last = deltas[t] + 0.99 * 0.95 * (1 - tf.constant(done)[t]) * last
        adv = adv.write(t, last)
    adv = adv.stack()
    ret = adv + values
    mean, var = tf.nn.moments(adv, [0])
    adv = (adv - mean) / tf.sqrt(var + 1e-08)
    old = tf.stop_gradient(logprobs(actor(obs), acts))

    @tf.function
    def train_policy(obs, a, old, adv):
        with tf.GradientTape() as tape:
            logits = actor(obs)
            ratio = tf.exp(logprobs(logits, a) - old)
            mn = tf.where(adv > 0, 1.2 * adv, 0.8 * adv)
            p = tf.nn.softmax(logits)
            ent = -tf.reduce_mean(tf.reduce_sum(p * tf.nn.log_softmax(logits), 1))
            loss = -tf.reduce_mean(tf.minimum(ratio * adv, mn)) - 0.01 * ent
        g = tape.gradient(loss, actor.trainable_variables)
        g, n = tf.clip_by_global_norm(g, 0.5)
        po.apply_gradients(zip(g, actor.trainable_variables, strict=True))
        kl = tf.reduce_mean(old - logprobs(actor(obs), a))
        return (loss, tf.reduce_sum(kl), n)

    @tf.function
    def train_value(obs, ret):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((ret - tf.squeeze(critic(obs), 1)) ** 2)
        g = tape.gradient(loss, critic.trainable_variables)
        vo.apply_gradients(zip(g, critic.trainable_variables, strict=True))
        return loss

    out = []
    for _ in range(6):
        found, kl, n = train_policy(obs, acts, old, adv)
        out.append([found, kl, n, train_value(obs, ret)])
    return (adv, out)


def soft_actor_critic(tf):
    L = tf.keras.layers
    s = make_values(16, 3)
    a = np.tanh(make_values(16, 2, seed=2))
    r = make_values(16, 1, seed=3)
    s2 = make_values(16, 3, seed=4)
    d = (np.arange(16) % 5 == 0).astype(np.float32)[:, None]
    eps = make_values(4, 16, 2, seed=9, scale=1.0)
    inp = tf.keras.Input((3,))
    h = L.Dense(8, "relu")(inp)
    actor = tf.keras.Model(inp, [L.Dense(2)(h), L.Dense(2)(h)])

    def make_q():
        i, j = (tf.keras.Input((3,)), tf.keras.Input((2,)))
        x = L.Concatenate()([i, j])
        x = L.Dense(8, "relu")(x)
        return tf.keras.Model([i, j], L.Dense(1)(x))

    q1, q2, t1, t2 = (make_q(), make_q(), make_q(), make_q())
    make_weights(actor, q1)
    make_weights(q2, seed=7)
    t1.set_weights(q1.get_weights())
    t2.set_weights(q2.get_weights())
    log_alpha = tf.Variable(0.0)
    opts = [tf.keras.optimizers.Adam(0.01) for _ in range(4)]

    def sample(s, e):
        mu, ls = actor(s)
        ls = tf.clip_by_value(ls, -20, 2)
        std = tf.exp(ls)
        u = mu + std * e
        lp = tf.reduce_sum(-0.5 * e**2 - ls - 0.5 * tf.math.log(2 * np.pi), 1, keepdims=True)
        act = tf.tanh(u)
        lp -= tf.reduce_sum(2 * (tf.math.log(2.0) - u - tf.nn.softplus(-2 * u)), 1, keepdims=True)
        return (act, lp)

    @tf.function
    def step(s, a, r, s2, d, e1, e2):
        alpha = tf.exp(log_alpha)
        a2, lp2 = sample(s2, e1)
        target = tf.stop_gradient(r + 0.99 * (1 - d) * (tf.minimum(t1([s2, a2]), t2([s2, a2])) - alpha * lp2))
        losses = []
        for q, o in ((q1, opts[0]), (q2, opts[1])):
            with tf.GradientTape() as tape:
                found = 0.5 * tf.reduce_mean(tf.math.squared_difference(target, q([s, a])))
            o.apply_gradients(
                zip(tape.gradient(found, q.trainable_variables), q.trainable_variables, strict=True)
            )
            losses.append(found)
        with tf.GradientTape() as tape:
            [
                tape.watch(
                    getattr(v.value, "__self__", v.value) if 0 else tf.convert_to_tensor(v) if 0 else v
                )
                for v in ()
            ]
            an, lp = sample(s, e2)
            la = tf.reduce_mean(alpha * lp - tf.minimum(q1([s, an]), q2([s, an])))
        opts[2].apply_gradients(
            zip(tape.gradient(la, actor.trainable_variables), actor.trainable_variables, strict=True)
        )
        with tf.GradientTape() as tape:
            lt = -tf.reduce_mean(log_alpha * tf.stop_gradient(lp - 2.0))
        opts[3].apply_gradients([(tape.gradient(lt, log_alpha), log_alpha)])
        for q, t in ((q1, t1), (q2, t2)):
            for v, w in zip(q.variables, t.variables, strict=True):
                w.assign(0.05 * v + 0.95 * w)
        return [*losses, la, lt]

    out = [step(s, a, r, s2, d, eps[i], eps[i + 1]) for i in range(3)]
    return (out, log_alpha, [tf.reduce_sum(w) for w in t1.weights])


def recomputed_blocks(tf):
    found = [tf.keras.layers.Dense(4, "tanh") for _ in range(3)]
    x = tf.constant(make_values(5, 4))
    [d.build((None, 4)) for d in found]
    rng = np.random.default_rng(0)
    for d in found:
        d.set_weights([rng.normal(size=w.shape).astype(np.float32) for w in d.get_weights()])
    v = tf.Variable(0.5)

    @tf.recompute_grad
    def block(x, k):
        h = x
        for d in found:
            h = d(h) * v
        return h**k

    @tf.function
    def f(x):
        with tf.GradientTape(persistent=True) as t:
            t.watch(x)
            y = tf.reduce_sum(block(x, 2.0) + block(x, 3.0))
        return (
            y,
            t.gradient(y, x),
            t.gradient(y, v),
            t.gradient(y, [w for d in found for w in d.trainable_variables]),
        )

    return f(x)


def a_hypernetwork_of_second_order(tf):
    w = [
        tf.Variable(make_values(1, 4)),
        tf.Variable(np.zeros(4, np.float32)),
        tf.Variable(make_values(4, 1, seed=2)),
        tf.Variable([0.1]),
    ]

    def net(x, p):
        return tf.nn.tanh(x @ p[0] + p[1]) @ p[2] + p[3]

    o = tf.keras.optimizers.SGD(0.1)
    xs = make_values(3, 6, 1, seed=3, scale=2.0)

    @tf.function
    def meta(xs, phases):
        with tf.GradientTape() as outer:
            total = 0.0
            for i in range(3):
                x = xs[i]
                y = tf.sin(x + phases[i])
                p = list(w)
                for _ in range(2):
                    with tf.GradientTape() as inner:
                        inner.watch(p)
                        found = tf.reduce_mean((net(x[:3], p) - y[:3]) ** 2)
                    p = [a - 0.1 * g for a, g in zip(p, inner.gradient(found, p), strict=True)]
                total += tf.reduce_mean((net(x[3:], p) - y[3:]) ** 2)
        g = outer.gradient(total, w)
        o.apply_gradients(zip(g, w, strict=True))
        return (total, g)

    ph = tf.constant([0.0, 1.0, 2.0])
    return [meta(tf.constant(xs), ph) for _ in range(3)]


def jacobians_and_hessians_of_a_network(tf):
    l1, l2 = (tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(2))
    x = tf.constant(make_values(3, 2))
    l2(l1(x))
    for found in (l1, l2):
        make_weights(found)
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            h = l1(x)
            y = l2(h)
            loss = tf.reduce_mean(y**2)
        g = t1.gradient(loss, l1.kernel)
    H = t2.jacobian(g, l1.kernel)
    n = int(tf.reduce_prod(l1.kernel.shape))
    hm = tf.reshape(H, [n, n])
    gv = tf.reshape(g, [n, 1])
    up = tf.linalg.solve(hm + tf.eye(n) * 0.1, gv)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.nn.sigmoid(l2(l1(x)))
    bj = t.batch_jacobian(y, x)
    j = t.jacobian(y, [l1.kernel, l2.bias])
    return (hm, up, bj, j, tf.reduce_max(tf.abs(hm - tf.transpose(hm))) < 1e-06)
