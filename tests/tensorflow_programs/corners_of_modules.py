"""Corners of the guide's pages on modules, layers, training and optimizers."""

import math

import numpy as np

X = np.random.default_rng(7).normal(size=(6, 3))


def make_dense(tf, units, **options):
    return tf.keras.layers.Dense(units, dtype="float64", kernel_initializer="ones", **options)


# ---- modules and layers ----------------------------------------------------------------------------------------------


def initializers_by_constants(tf):
    init = tf.constant_initializer([[1.0, 2.0], [3.0, 4.0]])
    layer = tf.keras.layers.Dense(
        2, kernel_initializer=init, bias_initializer=tf.keras.initializers.Constant(0.5)
    )
    return (
        init([2, 2]), layer(tf.ones([1, 2])), tf.zeros_initializer()([2]), tf.ones_initializer()([2], tf.int32),
        tf.keras.initializers.Identity(2.0)([2, 2]),
    )  # fmt: skip


def a_module_of_modules(tf):
    class Flexible(tf.Module):
        def __init__(self, units, name=None):
            super().__init__(name=name)
            self.units, self.is_built = units, False

        def __call__(self, x):
            if not self.is_built:
                self.w = tf.Variable(tf.ones([x.shape[-1], self.units]), name="w")
                self.b = tf.Variable(tf.zeros([self.units]), name="b", trainable=False)
                self.is_built = True
            return tf.nn.relu(x @ self.w + self.b)

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Flexible(3, name="first"), Flexible(2, name="second")]

        @tf.Module.with_name_scope
        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    y = net(tf.constant([[2.0, 2.0]]))
    return (
        y, [v.name for v in net.variables], len(net.trainable_variables), [m.name for m in net.submodules],
        [v.name for v in net.non_trainable_variables],
    )  # fmt: skip


def a_layer_with_training_and_a_regularizer(tf):
    class Noisy(tf.keras.layers.Layer):
        def __init__(self, units, **options):
            super().__init__(**options)
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight(
                shape=(input_shape[-1], self.units), initializer="ones", trainable=True,
                regularizer=tf.keras.regularizers.L2(0.01), name="kernel",
            )  # fmt: skip
            self.calls = self.add_weight(
                shape=(), initializer="zeros", trainable=False, dtype="int32", name="calls"
            )

        def call(self, x, training=False):
            self.calls.assign_add(1)
            if training:
                x = x * 2.0
            self.add_loss(tf.reduce_sum(x) * 0.001)
            return tf.matmul(x, self.w)

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    layer = Noisy(2)
    results = [layer(tf.ones([2, 3])), layer(tf.ones([2, 3]), training=True)]
    again = Noisy.from_config(layer.get_config())
    return (
        results,
        [float(one) for one in layer.losses],
        layer.calls,
        again.units,
        len(layer.trainable_weights),
    )


def a_model_that_overrides_its_steps(tf):
    class Custom(tf.keras.Sequential):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = tf.reduce_mean(tf.abs(y - y_pred))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"distance": loss}

        def test_step(self, data):
            x, y = data
            return {"largest": tf.reduce_max(tf.abs(y - self(x, training=False)))}

    model = Custom([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1))
    x = X.astype("float32")
    y = x @ np.array([[1.0], [2.0], [0.5]], "float32")
    history = model.fit(x, y, batch_size=3, epochs=3, verbose=0, shuffle=False)
    return history.history["distance"], model.evaluate(x, y, verbose=0, return_dict=True)["largest"]


def callbacks_of_ones_own(tf):
    calls = []

    class Log(tf.keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            super().on_train_begin(logs)
            calls.append("begin")

        def on_epoch_begin(self, epoch, logs=None):
            self.model.optimizer.learning_rate = 0.1 / (epoch + 1)

        def on_train_batch_end(self, batch, logs=None):
            calls.append([batch, sorted(logs)])

        def on_epoch_end(self, epoch, logs=None):
            calls.append([epoch, logs["loss"]])
            if epoch == 1:
                self.model.stop_training = True

        def on_test_end(self, logs=None):
            calls.append("tested")

    model = tf.keras.Sequential([make_dense(tf, 1)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    y = X[:, :1] - X[:, 1:2]
    model.fit(
        X, y, batch_size=3, epochs=5, verbose=0, shuffle=False, callbacks=[Log()], validation_data=(X, y)
    )
    return calls, model.optimizer.learning_rate


# ---- optimizers ------------------------------------------------------------------------------------------------------


def schedules_step_by_step(tf):
    schedules = tf.keras.optimizers.schedules
    made = [
        schedules.ExponentialDecay(0.1, 10, 0.5, staircase=True),
        schedules.PiecewiseConstantDecay([5, 9], [1.0, 0.5, 0.1]),
        schedules.PolynomialDecay(1.0, 10, 0.1, power=2.0, cycle=True), schedules.InverseTimeDecay(0.2, 3, 0.5),
        schedules.CosineDecay(0.5, 10, alpha=0.1, warmup_target=1.0, warmup_steps=4),
        schedules.CosineDecayRestarts(1.0, 4, t_mul=2.0, m_mul=0.5),
    ]  # fmt: skip

    class Warm(schedules.LearningRateSchedule):
        def __call__(self, step):
            step = tf.cast(step, tf.float32)
            return 0.1 * tf.minimum(step / 4.0, tf.math.rsqrt(step + 1.0))

    w = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(Warm())
    path = []
    for _ in range(6):
        optimizer.apply_gradients([(tf.constant(1.0), w)])
        path.append(float(w))
    return [[schedule(step) for step in (0, 3, 5, 9, 12)] for schedule in made], path


def optimizers_with_clipping_and_decay(tf):
    optimizers = tf.keras.optimizers
    found = {}
    for name, optimizer in {
        "sgd": optimizers.SGD(0.1, momentum=0.9, nesterov=True, clipnorm=1.0),
        "adam": optimizers.Adam(0.1, amsgrad=True, clipvalue=0.5), "adamw": optimizers.AdamW(0.1, weight_decay=0.1),
        "rmsprop": optimizers.RMSprop(0.1, momentum=0.5, centered=True, global_clipnorm=2.0),
        "adagrad": optimizers.Adagrad(0.1), "adamax": optimizers.Adamax(0.1), "nadam": optimizers.Nadam(0.1),
        "ftrl": optimizers.Ftrl(0.1, l1_regularization_strength=0.01), "lion": optimizers.Lion(0.01),
        "adadelta": optimizers.Adadelta(1.0), "scaled": optimizers.SGD(0.1, loss_scale_factor=8.0),
    }.items():  # fmt: skip
        w = tf.Variable([1.0, -2.0, 3.0])
        for _ in range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w**4) / 4.0
                scaled = optimizer.scale_loss(loss)
            optimizer.apply_gradients([(tape.gradient(scaled, w), w)])
        found[name] = w
    return found


def a_loss_scaled_in_half_precision(tf):
    w = tf.Variable([1e-4, 2e-4], dtype=tf.float16)
    x = tf.constant([1e-3, 2e-3], tf.float16)
    scale = 1024.0
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
        scaled = loss * tf.cast(scale, tf.float16)
    gradient = tf.cast(tape.gradient(scaled, w), tf.float32) / scale
    return gradient, loss.dtype.name


def an_optimizer_by_hand_as_a_module(tf):
    class Adam(tf.Module):
        def __init__(self, rate=0.05, beta_1=0.9, beta_2=0.999, small=1e-7):
            super().__init__()
            self.rate, self.beta_1, self.beta_2, self.small = rate, beta_1, beta_2, small
            self.t, self.built = 1.0, False

        def apply_gradients(self, gradients, variables):
            if not self.built:
                self.v = [tf.Variable(tf.zeros(v.shape, v.dtype)) for v in variables]
                self.s = [tf.Variable(tf.zeros(v.shape, v.dtype)) for v in variables]
                self.built = True
            for i, (d, variable) in enumerate(zip(gradients, variables, strict=True)):
                self.v[i].assign(self.beta_1 * self.v[i] + (1 - self.beta_1) * d)
                self.s[i].assign(self.beta_2 * self.s[i] + (1 - self.beta_2) * tf.square(d))
                v = self.v[i] / (1 - self.beta_1**self.t)
                s = self.s[i] / (1 - self.beta_2**self.t)
                variable.assign_sub(self.rate * (v / (tf.sqrt(s) + self.small)))
            self.t += 1.0

    x, y = tf.Variable(2.0), tf.Variable(-1.0)
    optimizer = Adam()
    path = []
    for _ in range(8):
        with tf.GradientTape() as tape:
            loss = (1.0 - x) ** 2 + 3.0 * (y - x**2) ** 2 + tf.sin(y)
        optimizer.apply_gradients(tape.gradient(loss, [x, y]), [x, y])
        path.append([float(x), float(y), float(loss)])
    return path, len(optimizer.variables)


def a_loop_that_ends_early_and_goes_on(tf):
    data = tf.data.Dataset.range(5).batch(2)
    iterator = iter(data)
    found = [next(iterator).numpy().tolist(), iterator.get_next().numpy().tolist()]
    rest = [batch.numpy().tolist() for batch in iterator]
    try:
        iterator.get_next()
    except tf.errors.OutOfRangeError:
        rest.append("OutOfRangeError")
    return found, rest, iterator.element_spec.shape.as_list()


def a_rotation_of_three_axes(tf):
    a = tf.Variable(0.3, dtype=tf.float64)
    with tf.GradientTape() as tape:
        c, s, zero, one = tf.cos(a), tf.sin(a), tf.zeros([], tf.float64), tf.ones([], tf.float64)
        turned = tf.stack([[c, -s, zero], [s, c, zero], [zero, zero, one]]) @ tf.constant(X.T)
        loss = tf.reduce_sum(turned**3) / math.pi
    return loss, tape.gradient(loss, a)
