"""Programs of textbooks: models of one's own, compile with its options, and data pipelines."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def make_regression(rows=24, features=4, seed=3):
    x = make_values(rows, features, seed=seed, scale=1.0)
    return x, (x @ np.arange(1, features + 1, dtype=np.float32) * 0.3 + 0.5)[:, None].astype(np.float32)


def a_loss_of_ones_own(tf):
    def huber_fn(y_true, y_pred):
        error = y_true - y_pred
        is_small_error = tf.abs(error) < 1
        squared_loss = tf.square(error) / 2
        linear_loss = tf.abs(error) - 0.5
        return tf.where(is_small_error, squared_loss, linear_loss)

    class HuberLoss(tf.keras.losses.Loss):
        def __init__(self, threshold=1.0, **kwargs):
            self.threshold = threshold
            super().__init__(**kwargs)

        def call(self, y_true, y_pred):
            error = y_true - y_pred
            is_small_error = tf.abs(error) < self.threshold
            squared_loss = tf.square(error) / 2
            linear_loss = self.threshold * tf.abs(error) - self.threshold**2 / 2
            return tf.where(is_small_error, squared_loss, linear_loss)

        def get_config(self):
            base_config = super().get_config()
            return {**base_config, "threshold": self.threshold}

    x, y = make_regression()
    results = []
    for loss in (huber_fn, HuberLoss(2.0), "huber", tf.keras.losses.Huber(0.5)):
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        make_weights(model)
        model.compile(loss=loss, optimizer=tf.keras.optimizers.SGD(0.05), metrics=["mae", huber_fn])
        results.append(model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history)
    return [list(r.values()) for r in results], HuberLoss(2.0, name="h").get_config()["threshold"]


def a_streaming_metric(tf):
    class HuberMetric(tf.keras.metrics.Metric):
        def __init__(self, threshold=1.0, **kwargs):
            super().__init__(**kwargs)
            self.threshold = threshold
            self.total = self.add_weight(name="total", initializer="zeros")
            self.count = self.add_weight(name="count", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            metric = tf.keras.losses.huber(y_true, y_pred, self.threshold)
            self.total.assign_add(tf.reduce_sum(metric))
            self.count.assign_add(tf.cast(tf.size(y_true), tf.float32))

        def result(self):
            return self.total / self.count

        def get_config(self):
            base_config = super().get_config()
            return {**base_config, "threshold": self.threshold}

    precision = tf.keras.metrics.Precision()
    first = precision([0, 1, 1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 1, 0, 1])
    second = precision([0, 1, 0, 0, 1, 0, 1, 1], [1, 0, 1, 1, 0, 0, 0, 0])
    names = [v.name.split("/")[-1].split(":")[0] for v in precision.variables]
    precision.reset_state()
    metric = HuberMetric(2.0, name="hubs")
    a = metric(tf.constant([[2.0]]), tf.constant([[10.0]]))
    b = metric(tf.constant([[0.0], [5.0]]), tf.constant([[1.0], [9.25]]))
    x, y = make_regression()
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    make_weights(model)
    model.compile(loss="mse", optimizer="sgd", metrics=[HuberMetric(2.0)])
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return (
        first,
        second,
        names,
        a,
        b,
        metric.variables[0],
        metric.get_config()["threshold"],
        list(history.values()),
    )


def a_reconstruction_loss_and_metric(tf):
    layers = tf.keras.layers

    class ReconstructingRegressor(tf.keras.Model):
        def __init__(self, output_dim, **kwargs):
            super().__init__(**kwargs)
            self.hidden = [
                layers.Dense(5, activation="relu", kernel_initializer="he_normal") for _ in range(3)
            ]
            self.out = layers.Dense(output_dim)
            self.reconstruction_mean = tf.keras.metrics.Mean(name="reconstruction_error")

        def build(self, batch_input_shape):
            n_inputs = batch_input_shape[-1]
            self.reconstruct = layers.Dense(n_inputs)
            self.built = True

        def call(self, inputs, training=None):
            Z = inputs
            for layer in self.hidden:
                Z = layer(Z)
            reconstruction = self.reconstruct(Z)
            recon_loss = tf.reduce_mean(tf.square(reconstruction - inputs))
            self.add_loss(0.05 * recon_loss)
            if training:
                self.reconstruction_mean.update_state(recon_loss)
            return self.out(Z)

    x, y = make_regression()
    model = ReconstructingRegressor(1)
    model(x)
    make_weights(model)
    model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.05))
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return history, len(model.losses), len(model.trainable_variables)


def a_residual_block_and_a_model_of_blocks(tf):
    layers = tf.keras.layers

    class ResidualBlock(layers.Layer):
        def __init__(self, n_layers, n_neurons, **kwargs):
            super().__init__(**kwargs)
            self.hidden = [layers.Dense(n_neurons, activation="relu") for _ in range(n_layers)]

        def call(self, inputs):
            Z = inputs
            for layer in self.hidden:
                Z = layer(Z)
            return inputs + Z

    class ResidualRegressor(tf.keras.Model):
        def __init__(self, output_dim, **kwargs):
            super().__init__(**kwargs)
            self.hidden1 = layers.Dense(6, activation="elu")
            self.block1 = ResidualBlock(2, 6)
            self.block2 = ResidualBlock(2, 6)
            self.out = layers.Dense(output_dim)

        def call(self, inputs):
            Z = self.hidden1(inputs)
            for _ in range(1 + 3):
                Z = self.block1(Z)
            Z = self.block2(Z)
            return self.out(Z)

    x, y = make_regression()
    model = ResidualRegressor(1)
    model(x)
    make_weights(model, seed=9)
    model.set_weights([0.3 * w for w in model.get_weights()])
    model.compile(loss="mse", optimizer=tf.keras.optimizers.Nadam(0.01))
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return history, model.predict(x[:3], verbose=0), [layer.name != "" for layer in model.layers]


def a_wide_and_deep_model(tf):
    layers = tf.keras.layers

    class WideAndDeepModel(tf.keras.Model):
        def __init__(self, units=5, activation="relu", **kwargs):
            super().__init__(**kwargs)
            self.hidden1 = layers.Dense(units, activation=activation)
            self.hidden2 = layers.Dense(units, activation=activation)
            self.main_output = layers.Dense(1)
            self.aux_output = layers.Dense(1)

        def call(self, inputs):
            input_wide, input_deep = inputs
            hidden1 = self.hidden1(input_deep)
            hidden2 = self.hidden2(hidden1)
            concat = tf.concat([input_wide, hidden2], axis=-1)
            output = self.main_output(concat)
            aux_output = self.aux_output(hidden2)
            return output, aux_output

    x, y = make_regression()
    wide, deep = x[:, :2], x[:, 1:]
    model = WideAndDeepModel()
    model((wide, deep))
    make_weights(model)
    optimizer = tf.keras.optimizers.SGD(0.05)
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            main, aux = model((wide, deep), training=True)
            loss = 0.9 * tf.keras.losses.MeanSquaredError()(
                y, main
            ) + 0.1 * tf.keras.losses.MeanAbsoluteError()(y, aux)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        losses.append(loss)
    return losses, [w.numpy() for w in model.trainable_variables]


def weights_of_the_loss(tf):
    x, y = make_regression()
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    make_weights(model)
    model.compile(tf.keras.optimizers.SGD(0.05), "mse", [0.5], ["mae"])
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    return history, model.evaluate(x, y, 8, 0, None, 2, None, True), model.predict(x, 8, 0, 1).shape


def the_power_schedule_and_the_exponential_schedule(tf):
    schedules = tf.keras.optimizers.schedules
    power = schedules.InverseTimeDecay(
        initial_learning_rate=0.01, decay_steps=10_000, decay_rate=1.0, staircase=False
    )
    exponential = schedules.ExponentialDecay(0.01, 20, 0.1)
    piecewise = schedules.PiecewiseConstantDecay(boundaries=[50_000, 80_000], values=[0.01, 0.005, 0.001])
    steps = [0, 1, 10, 1000, 60_000]

    class OneCycle(schedules.LearningRateSchedule):
        def __init__(self, peak, half):
            self.peak, self.half = peak, half

        def __call__(self, step):
            step = tf.cast(step, tf.float32)
            return self.peak * tf.where(step < self.half, step / self.half, 2.0 - step / self.half)

        def get_config(self):
            return {"peak": self.peak, "half": self.half}

    x, y = make_regression()
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    make_weights(model)
    model.compile(tf.keras.optimizers.SGD(OneCycle(0.1, 3)), "mse")
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history

    class ExponentialLearningRate(tf.keras.callbacks.Callback):
        def __init__(self, factor):
            super().__init__()
            self.factor, self.rates, self.losses = factor, [], []

        def on_batch_end(self, batch, logs=None):
            rate = float(self.model.optimizer.learning_rate.numpy()) * self.factor
            self.rates.append(rate)
            self.losses.append(logs["loss"])
            self.model.optimizer.learning_rate = rate

    expon = ExponentialLearningRate(1.5)
    other = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    make_weights(other)
    other.compile(tf.keras.optimizers.SGD(1e-3), "mse")
    other.fit(x, y, epochs=1, batch_size=8, shuffle=False, verbose=0, callbacks=[expon])
    return (
        [[float(f(s)) for s in steps] for f in (power, exponential, piecewise)],
        history,
        expon.rates,
        expon.losses,
    )


def regularization_and_constraints(tf):
    layers = tf.keras.layers
    x, y = make_regression()
    model = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            layers.Dense(6, "relu", kernel_regularizer=tf.keras.regularizers.l1_l2(0.01, 0.02),
                         kernel_constraint=tf.keras.constraints.max_norm(1.0)),
            layers.Dense(1, kernel_constraint=tf.keras.constraints.NonNeg(), bias_regularizer="l2"),
        ]
    )  # fmt: skip
    make_weights(model)
    model.compile(tf.keras.optimizers.SGD(0.05), "mse")
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0).history
    w = tf.constant(make_values(3, 4, scale=2.0))
    constraints = [
        tf.keras.constraints.MaxNorm(1.5, axis=1), tf.keras.constraints.UnitNorm(axis=0),
        tf.keras.constraints.MinMaxNorm(0.5, 1.0, rate=0.5), tf.keras.constraints.get("non_neg"),
    ]  # fmt: skip
    return history, [w.numpy() for w in model.trainable_variables], [c(w) for c in constraints]


def normalized_inputs(tf):
    layers = tf.keras.layers
    x, y = make_regression()
    norm = layers.Normalization()
    norm.adapt(x)
    given = layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 4.0, 9.0, 16.0])
    inverse = layers.Normalization(mean=0.5, variance=2.0, invert=True)
    model = tf.keras.Sequential([norm, layers.Dense(1)])
    model(x)
    model.layers[1].set_weights([make_values(4, 1), make_values(1)])
    model.compile("sgd", "mse")
    history = model.fit(x, y, epochs=1, batch_size=8, shuffle=False, verbose=0).history
    images = np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3)
    one = layers.Normalization(axis=None)
    one.adapt(x)
    return (
        norm(x), given(x), inverse(x), history, layers.Rescaling(1 / 255.0)(images),
        layers.Rescaling(2.0, offset=-1.0)(images), one(x), len(norm.trainable_variables),
    )  # fmt: skip


def functions_as_layers(tf):
    layers = tf.keras.layers
    x = make_values(3, 4)
    model = tf.keras.Sequential(
        [layers.Lambda(lambda z: z * 2.0), layers.Identity(), layers.Lambda(tf.exp), layers.Dense(2)]
    )
    model(x)
    make_weights(model)
    return model(x), layers.Lambda(lambda z, power: z**power, arguments={"power": 3.0})(x)


def shapes_of_images(tf):
    layers = tf.keras.layers
    x = make_values(2, 4, 5, 3)
    return (
        layers.ZeroPadding2D(1)(x), layers.ZeroPadding2D(((1, 0), (2, 1)))(x), layers.ZeroPadding1D(2)(x[0]),
        layers.Cropping2D(((1, 0), (1, 2)))(x), layers.Cropping1D((1, 1))(x[0]), layers.UpSampling2D()(x),
        layers.UpSampling2D((1, 3))(x), layers.UpSampling1D(2)(x[0]),
    )  # fmt: skip


def activations_as_layers(tf):
    layers = tf.keras.layers
    x = make_values(3, 4)
    prelu = layers.PReLU(alpha_initializer=tf.keras.initializers.Constant(0.3))
    return (
        layers.ELU(0.5)(x), prelu(x), layers.LeakyReLU(negative_slope=0.1)(x), layers.ReLU(max_value=0.3)(x),
        prelu.get_weights(), layers.Softmax()(x),
    )  # fmt: skip


def dropout_of_several_kinds_in_inference(tf):
    layers = tf.keras.layers
    x, images = make_values(3, 4), make_values(2, 4, 4, 3)
    gauss = layers.GaussianDropout(0.3)
    dropped = layers.SpatialDropout2D(0.5, seed=1)(tf.ones((4, 3, 3, 20)), training=True).numpy()
    per_channel = [
        bool((dropped[i, :, :, c] == dropped[i, 0, 0, c]).all()) for i in range(4) for c in range(20)
    ]
    return (
        gauss(x),
        layers.SpatialDropout2D(0.5)(images),
        all(per_channel),
        sorted(set(dropped.ravel().tolist())),
    )


def cells_with_positional_arguments(tf):
    layers = tf.keras.layers
    x = make_values(2, 3)
    results = []
    for cell, states in (
        (layers.LSTMCell(4, "relu", "hard_sigmoid"), 2), (layers.GRUCell(4, "relu", "sigmoid", False), 1),
        (layers.SimpleRNNCell(4, "relu", False), 1),
    ):  # fmt: skip
        given = [make_values(2, 4, seed=s) for s in range(states)]
        cell(x, given)
        make_weights(cell)
        results.append(cell(x, given))
    stacked = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True)
    sequence = make_values(2, 5, 3)
    stacked(sequence)
    make_weights(stacked)
    return results, stacked(sequence)


def a_cell_of_ones_own(tf):
    layers = tf.keras.layers

    class LNSimpleRNNCell(layers.Layer):
        def __init__(self, units, activation="tanh", **kwargs):
            super().__init__(**kwargs)
            self.state_size = units
            self.output_size = units
            self.simple_rnn_cell = layers.SimpleRNNCell(units, activation=None)
            self.layer_norm = layers.LayerNormalization()
            self.activation = tf.keras.activations.get(activation)

        def call(self, inputs, states):
            outputs, _ = self.simple_rnn_cell(inputs, states)
            norm_outputs = self.activation(self.layer_norm(outputs))
            return norm_outputs, [norm_outputs]

    x = make_values(2, 5, 3)
    layer = layers.RNN(LNSimpleRNNCell(4), return_sequences=True)
    last = layers.RNN(LNSimpleRNNCell(4), return_state=True)
    layer(x)
    last(x)
    make_weights(layer, last)
    return layer(x), last(x)


def a_char_rnn_with_a_stateful_layer(tf):
    layers = tf.keras.layers
    x = make_values(2, 4, 3)
    layer = layers.GRU(4, return_sequences=True, stateful=True)
    layer(x)
    make_weights(layer)
    layer.reset_state()
    first = layer(x)
    second = layer(x)
    layer.reset_state()
    return first, second, layer(x)
