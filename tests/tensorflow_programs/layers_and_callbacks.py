"""Programs of textbooks: layers, losses and callbacks."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_linear_layer_of_ones_own(tf):
    class Linear(tf.keras.layers.Layer):
        def __init__(self, units=32, **kwargs):
            super().__init__(**kwargs)
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight(
                shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True
            )
            self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

        def call(self, inputs):
            return tf.matmul(inputs, self.w) + self.b

        def get_config(self):
            config = super().get_config()
            config.update({"units": self.units})
            return config

    layer = Linear(4, name="mine")
    first = layer(tf.ones((2, 3)))
    make_weights(layer)
    config = layer.get_config()
    new_layer = Linear.from_config(config)
    return (
        first.shape, layer(tf.ones((2, 3))), layer.name, new_layer.name, new_layer.units, new_layer.built,
        layer.built, len(layer.weights), [w.shape for w in layer.trainable_weights],
    )  # fmt: skip


def weights_that_are_not_trained(tf):
    class ComputeSum(tf.keras.layers.Layer):
        def __init__(self, input_dim):
            super().__init__()
            self.total = self.add_weight(initializer="zeros", shape=(input_dim,), trainable=False)

        def call(self, inputs):
            self.total.assign_add(tf.reduce_sum(inputs, axis=0))
            return self.total

    my_sum = ComputeSum(2)
    x = tf.ones((2, 2))
    y = my_sum(x).numpy()
    z = my_sum(x).numpy()
    return y, z, len(my_sum.weights), len(my_sum.non_trainable_weights), my_sum.trainable_weights


def losses_are_created_in_the_forward_pass(tf):
    class ActivityRegularization(tf.keras.layers.Layer):
        def __init__(self, rate=1e-2):
            super().__init__()
            self.rate = rate

        def call(self, inputs):
            self.add_loss(self.rate * tf.reduce_mean(inputs))
            return inputs

    class Outer(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.activity_reg = ActivityRegularization()
            self.dense = tf.keras.layers.Dense(2, kernel_regularizer=tf.keras.regularizers.L2(1e-3))

        def call(self, inputs):
            return self.activity_reg(self.dense(inputs))

    layer = Outer()
    before = len(layer.losses)
    layer(tf.ones((3, 4)))
    make_weights(layer)
    layer(tf.ones((3, 4)))
    once = len(layer.losses)
    layer(2.0 * tf.ones((3, 4)))
    return before, once, sorted(float(loss) for loss in layer.losses)


def a_layer_knows_whether_it_trains(tf):
    class CustomDropout(tf.keras.layers.Layer):
        def __init__(self, rate, **kwargs):
            super().__init__(**kwargs)
            self.rate = rate

        def call(self, inputs, training=None):
            if training:
                return inputs * 0.0
            return inputs

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.drop = CustomDropout(0.5)

        def call(self, x, training=False):
            return self.drop(x)

    layer, net = CustomDropout(0.5), Net()
    x = tf.ones((2,))
    return layer(x), layer(x, training=True), net(x), net(x, training=True)


def make_classifier(tf, seed=1):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((5,)), layers.Dense(8, activation="relu"), layers.Dense(3, activation="softmax")]
    )
    make_weights(model, seed=seed)
    return model


def make_data():
    x = make_values(24, 5, seed=11)
    return x, (x[:, 0] > 0).astype(int) + (x[:, 1] > 0).astype(int)


def a_callback_stops_early_and_restores(tf):
    class EarlyStoppingAtMinLoss(tf.keras.callbacks.Callback):
        def __init__(self, patience=0):
            super().__init__()
            self.patience, self.best_weights = patience, None

        def on_train_begin(self, logs=None):
            self.wait, self.stopped_epoch, self.best = 0, 0, np.inf

        def on_epoch_end(self, epoch, logs=None):
            current = logs.get("loss")
            if np.less(current, self.best):
                self.best, self.wait = current, 0
                self.best_weights = self.model.get_weights()
            else:
                self.wait += 1
                if self.wait >= self.patience:
                    self.stopped_epoch = epoch
                    self.model.stop_training = True
                    self.model.set_weights(self.best_weights)

    class Recorder(tf.keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.seen = []

        def on_epoch_begin(self, epoch, logs=None):
            self.seen.append(["epoch", epoch, float(self.model.optimizer.learning_rate)])

        def on_train_batch_end(self, batch, logs=None):
            self.seen.append(["batch", batch, sorted(logs)])

        def on_test_end(self, logs=None):
            self.seen.append(["test", sorted(logs)])

        def on_train_end(self, logs=None):
            self.seen.append(["end", sorted(logs)])

    model, (x, y), recorder = make_classifier(tf), make_data(), Recorder()
    model.compile(
        tf.keras.optimizers.SGD(4.0, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    stop = EarlyStoppingAtMinLoss(patience=1)
    history = model.fit(
        x,
        y,
        batch_size=12,
        epochs=6,
        verbose=0,
        shuffle=False,
        validation_data=(x, y),
        callbacks=[stop, recorder],
    )
    return history.history, stop.stopped_epoch, history.epoch, recorder.seen, model.get_weights()


def the_callbacks_of_keras(tf):
    model, (x, y) = make_classifier(tf), make_data()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(0.05), loss="sparse_categorical_crossentropy",
        metrics=["accuracy"], weighted_metrics=[],
    )  # fmt: skip
    history = model.fit(
        x, y, batch_size=8, epochs=6, verbose=0, shuffle=False, validation_split=0.25,
        callbacks=[
            tf.keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr * 0.9),
            tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_lr=1e-3),
            tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=4, restore_best_weights=True),
            tf.keras.callbacks.TerminateOnNaN(),
            tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
        ],
    )  # fmt: skip
    return history.history, model.evaluate(x, y, verbose=0), model.predict(x[:3], verbose=0)


def class_weights_and_sample_weights(tf):
    model, (x, y) = make_classifier(tf), make_data()
    model.compile(
        "rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy"]
    )
    first = model.fit(x, y, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, batch_size=8, verbose=0, shuffle=False)
    weights = np.linspace(0.0, 1.0, 24).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((x, y, weights)).batch(6)
    second = model.fit(data, epochs=2, verbose=0)
    return (
        first.history,
        second.history,
        model.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True),
    )


def accumulated_gradients(tf):
    model, (x, y) = make_classifier(tf), make_data()
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy()
    optimizer = tf.keras.optimizers.Adam(0.01)
    sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
    for i in range(4):
        with tf.GradientTape() as tape:
            loss = loss_of(y[6 * i : 6 * i + 6], model(x[6 * i : 6 * i + 6]))
        for total, gradient in zip(sums, tape.gradient(loss, model.trainable_variables), strict=True):
            total.assign_add(gradient / 4)
        if i % 2:
            clipped, norm = tf.clip_by_global_norm(sums, 0.05)
            optimizer.apply_gradients(zip(clipped, model.trainable_variables, strict=True))
            for total in sums:
                total.assign(tf.zeros_like(total))
    return norm, model.get_weights(), optimizer.iterations


def policy_gradients(tf):
    model = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Dense(5, activation="relu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    make_weights(model)
    loss_fn = tf.keras.losses.binary_crossentropy
    optimizer = tf.keras.optimizers.Nadam(learning_rate=0.01)
    all_grads, rewards = [], []
    for step in range(5):
        obs = make_values(4, seed=step)
        with tf.GradientTape() as tape:
            left_proba = model(obs[np.newaxis])
            action = tf.constant([[0.3 + 0.1 * step]]) > left_proba
            y_target = tf.constant([[1.0]]) - tf.cast(action, tf.float32)
            loss = tf.reduce_mean(loss_fn(y_target, left_proba))
        all_grads.append(tape.gradient(loss, model.trainable_variables))
        rewards.append(1.0 - 0.3 * int(action[0, 0].numpy()))
    discounted = np.array(rewards, dtype=np.float32)
    for step in range(3, -1, -1):
        discounted[step] += discounted[step + 1] * np.float32(0.9)
    final = (discounted - discounted.mean()) / discounted.std()
    mean_grads = []
    for i in range(len(model.trainable_variables)):
        mean_grads.append(tf.reduce_mean([final[s] * all_grads[s][i] for s in range(5)], axis=0))
    optimizer.apply_gradients(zip(mean_grads, model.trainable_variables, strict=True))
    return model.get_weights(), rewards
