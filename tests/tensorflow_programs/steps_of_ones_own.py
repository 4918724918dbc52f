"""Programs of textbooks: training steps, losses and metrics."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_train_step_with_sample_weights(tf):
    class CustomModel(tf.keras.Sequential):
        def train_step(self, data):
            if len(data) == 3:
                x, y, sample_weight = data
            else:
                sample_weight = None
                x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)
            trainable_vars = self.trainable_variables
            gradients = tape.gradient(loss, trainable_vars)
            self.optimizer.apply(gradients, trainable_vars)
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred, sample_weight=sample_weight)
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

    model = CustomModel([tf.keras.Input((5,)), tf.keras.layers.Dense(1)])
    make_weights(model)
    x, y = make_values(12, 5), make_values(12, 1, seed=9)
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    weights = np.linspace(0.5, 2, 12).astype(np.float32)
    history = model.fit(x, y, sample_weight=weights, epochs=3, batch_size=4, shuffle=False, verbose=0)
    return history.history, model.evaluate(x, y, verbose=0)


def a_train_step_with_its_own_metrics(tf):
    loss_tracker = tf.keras.metrics.Mean(name="loss")
    mae_metric = tf.keras.metrics.MeanAbsoluteError(name="mae")

    class CustomModel(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = tf.reduce_mean(tf.keras.losses.MeanSquaredError(reduction=None)(y, y_pred))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            loss_tracker.update_state(loss)
            mae_metric.update_state(y, y_pred)
            return {"loss": loss_tracker.result(), "mae": mae_metric.result()}

        @property
        def metrics(self):
            return [loss_tracker, mae_metric]

    model = CustomModel()
    model(tf.zeros((1, 5)))
    make_weights(model)
    model.compile(optimizer="adam")
    x, y = make_values(12, 5), make_values(12, 1, seed=9)
    return model.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0).history


def a_frozen_base_and_fine_tuning(tf):
    layers = tf.keras.layers
    base = tf.keras.Sequential(
        [tf.keras.Input((5,)), layers.Dense(6, activation="relu"), layers.BatchNormalization()]
    )
    model = tf.keras.Sequential([base, layers.Dropout(0.0), layers.Dense(1)])
    model.build((None, 5))
    make_weights(base.layers[0], model.layers[-1])
    base.trainable = False
    counts = [len(model.trainable_weights), len(model.non_trainable_weights)]
    model.compile(
        tf.keras.optimizers.Adam(0.01),
        tf.keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[tf.keras.metrics.BinaryAccuracy()],
    )
    x, y = make_values(16, 5), (np.arange(16) % 2).astype(np.float32)[:, None]
    kept = [np.array(w) for w in base.get_weights()]
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    unchanged = all(np.array_equal(a, b) for a, b in zip(kept, base.get_weights(), strict=True))
    base.trainable = True
    model.layers[0].layers[-1].trainable = False
    model.compile(tf.keras.optimizers.Adam(1e-3), tf.keras.losses.BinaryCrossentropy(from_logits=True))
    fine = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    return counts, history, unchanged, len(model.trainable_weights), fine["loss"], model.get_weights()


def a_huber_loss_and_metric_with_a_threshold(tf):
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

    class HuberMetric(tf.keras.metrics.Metric):
        def __init__(self, threshold=1.0, **kwargs):
            super().__init__(**kwargs)
            self.threshold = threshold
            self.total = self.add_weight(name="total", initializer="zeros")
            self.count = self.add_weight(name="count", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            error = y_true - y_pred
            small = tf.abs(error) < self.threshold
            values = tf.where(
                small, tf.square(error) / 2, self.threshold * tf.abs(error) - self.threshold**2 / 2
            )
            self.total.assign_add(tf.reduce_sum(values))
            self.count.assign_add(tf.cast(tf.size(y_true), tf.float32))

        def result(self):
            return self.total / self.count

        def get_config(self):
            return {**super().get_config(), "threshold": self.threshold}

    def my_softplus(z):
        return tf.math.log(1.0 + tf.exp(z))

    def my_l1_regularizer(weights):
        return tf.reduce_sum(tf.abs(0.01 * weights))

    def my_positive_weights(weights):
        return tf.where(weights < 0.0, tf.zeros_like(weights), weights)

    model = tf.keras.Sequential(
        [
            tf.keras.Input((5,)),
            tf.keras.layers.Dense(
                4, activation=my_softplus, kernel_regularizer=my_l1_regularizer,
                kernel_constraint=my_positive_weights,
            ),
            tf.keras.layers.Dense(1),
        ]
    )  # fmt: skip
    make_weights(model)
    model.compile(loss=HuberLoss(0.5), optimizer="nadam", metrics=[HuberMetric(0.5), "mae"])
    x, y = make_values(12, 5), make_values(12, 1, seed=9)
    history = model.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0).history
    return (
        history,
        HuberLoss(2.0).get_config()["threshold"],
        model.get_weights()[0],
    )


def a_reconstruction_loss(tf):
    class ReconstructingRegressor(tf.keras.Model):
        def __init__(self, output_dim, **kwargs):
            super().__init__(**kwargs)
            self.hidden = [tf.keras.layers.Dense(6, activation="selu") for _ in range(3)]
            self.out = tf.keras.layers.Dense(output_dim)
            self.reconstruction_mean = tf.keras.metrics.Mean(name="reconstruction_error")

        def build(self, batch_input_shape):
            self.reconstruct = tf.keras.layers.Dense(batch_input_shape[-1])
            self.built = True

        def call(self, inputs, training=False):
            z = inputs
            for layer in self.hidden:
                z = layer(z)
            reconstruction = self.reconstruct(z)
            recon_loss = tf.reduce_mean(tf.square(reconstruction - inputs))
            self.add_loss(0.05 * recon_loss)
            if training:
                self.reconstruction_mean.update_state(recon_loss)
            return self.out(z)

    model = ReconstructingRegressor(1)
    model(tf.zeros((1, 5)))
    rng = np.random.default_rng(0)
    for w in model.trainable_variables:
        w.assign((0.4 * rng.normal(size=w.shape)).astype(np.float32))
    model.compile(loss="mse", optimizer=tf.keras.optimizers.Nadam(0.01))
    x, y = make_values(12, 5), make_values(12, 1, seed=9)
    return model.fit(x, y, epochs=3, batch_size=6, shuffle=False, verbose=0).history


def contrastive_learning_of_a_siamese_net(tf):
    layers = tf.keras.layers
    net = tf.keras.Sequential([tf.keras.Input((6,)), layers.Dense(8, activation="tanh"), layers.Dense(3)])
    make_weights(net)
    optimizer = tf.keras.optimizers.RMSprop(1e-2)
    margin, losses = 1.0, []
    left, right = tf.constant(make_values(10, 6)), tf.constant(make_values(10, 6, seed=8))
    same = tf.constant(np.arange(10) % 2, tf.float32)
    for _ in range(4):
        with tf.GradientTape() as tape:
            a = tf.math.l2_normalize(net(left, training=True), axis=1)
            b = tf.nn.l2_normalize(net(right, training=True), axis=-1)
            distance = tf.norm(a - b, axis=1)
            loss = tf.reduce_mean(
                same * tf.square(distance) + (1 - same) * tf.square(tf.maximum(margin - distance, 0))
            )
        grads = tape.gradient(loss, net.trainable_weights)
        optimizer.apply_gradients(zip(grads, net.trainable_weights, strict=True))
        losses.append(loss)
    return losses, tf.keras.losses.cosine_similarity(a, b)


def what_steps_of_ones_own_get(tf):
    def structure(data):
        if isinstance(data, (tuple, list)):
            return [type(data).__name__, *map(structure, data)]
        if isinstance(data, dict):
            return {name: structure(part) for name, part in data.items()}
        return None if data is None else list(data.shape)

    seen = []

    class Watching(tf.keras.Model):
        def train_step(self, data):
            seen.append(["train", structure(data)])
            return {"loss": tf.constant(0.0)}

        def test_step(self, data):
            seen.append(["test", structure(data)])
            return {"loss": tf.constant(0.0)}

        def predict_step(self, data):
            seen.append(["predict", structure(data)])
            return tf.zeros((2, 1))

    x, y, w = np.ones((2, 3), "float32"), np.ones((2, 1), "float32"), np.ones(2, "float32")
    for given in ((x,), (x, y), (x, y, w), ([x, x],), ([x, x], y), ((x, x),), ({"a": x},), ({"a": x}, y)):
        model = Watching()
        model.compile(optimizer="sgd", run_eagerly=True)
        inputs, labels, weights = (*given, None, None)[:3]
        model.fit(inputs, labels, sample_weight=weights, batch_size=2, verbose=0)
        model.evaluate(inputs, labels, sample_weight=weights, batch_size=2, verbose=0)
        model.predict(inputs, verbose=0)
        model.train_on_batch(inputs, labels, sample_weight=weights)
        model.test_on_batch(inputs, labels, sample_weight=weights)
        model.predict_on_batch(inputs)
    for element in (x, (x,), (x, y), (x, y, w), ((x, x), y), {"a": x}, ({"a": x}, y)):
        model = Watching()
        model.compile(optimizer="sgd", run_eagerly=True)
        batches = tf.data.Dataset.from_tensor_slices(element).batch(2)
        model.fit(batches, verbose=0)
        model.evaluate(batches, verbose=0)
        model.predict(batches, verbose=0)
    return seen


def training_with_a_generator(tf):
    def batches():
        rng = np.random.default_rng(4)
        while True:
            x = rng.normal(size=(4, 2)).astype(np.float32)
            yield x, x[:, :1] - 2 * x[:, 1:]

    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.set_weights([np.ones((2, 1), np.float32), np.zeros(1, np.float32)])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    history = model.fit(batches(), steps_per_epoch=3, epochs=2, verbose=0)
    return history.history["loss"], model.evaluate(batches(), steps=2, verbose=0), model.get_weights()
