"""Whole programs of the guides on differentiation, transfer of weights, masking, callbacks and training loops."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def gradients_that_are_clipped_scaled_and_stopped(tf):
    """Clipping by a custom gradient in a layer, a persistent tape over several paths, and Jacobians of a layer."""

    @tf.custom_gradient
    def clip_gradients(y):
        def backward(dy):
            return tf.clip_by_norm(dy, 0.5)

        return y, backward

    class Clipped(tf.keras.layers.Layer):
        def call(self, x):
            return clip_gradients(x * 3.0)

    v = tf.Variable([2.0, -1.0])
    with tf.GradientTape(persistent=True) as tape:
        y = Clipped()(v * v)
        z = tf.reduce_sum(y + tf.stop_gradient(y) * v)
    layer = tf.keras.layers.Dense(4, activation=tf.nn.gelu)
    x = tf.constant(make_values(3, 2))
    layer(x)
    layer.set_weights([make_values(2, 4, seed=1), make_values(4, seed=2)])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            out = layer(x)
        rows = inner.batch_jacobian(out, x)
        roughness = tf.reduce_sum(rows**2)
    kernel_jacobian = outer.jacobian(out, layer.kernel)
    second = outer.gradient(roughness, [x, layer.kernel, layer.bias])
    return tape.gradient(y, v), tape.gradient(z, v), rows, kernel_jacobian, second


def weights_move_between_models(tf):
    """A functional model, a subclass and a Sequential share values; a frozen base below a new head is trained."""
    layers = tf.keras.layers

    def functional():
        inputs = tf.keras.Input((5,), name="digits")
        x = layers.Dense(6, activation="relu", name="dense_1")(inputs)
        x = layers.BatchNormalization(name="normed")(x)
        return tf.keras.Model(inputs, layers.Dense(3, name="predictions")(x), name="three_layers")

    class Subclassed(tf.keras.Model):
        def __init__(self, classes, name=None):
            super().__init__(name=name)
            self.classes = classes
            self.dense_1, self.normed = layers.Dense(6, activation="relu"), layers.BatchNormalization()
            self.dense_2 = layers.Dense(classes)

        def call(self, inputs, training=False):
            return self.dense_2(self.normed(self.dense_1(inputs), training=training))

        def get_config(self):
            return {"classes": self.classes, "name": self.name}

    x, y = make_values(12, 5), np.arange(12) % 3
    source, other = functional(), Subclassed(3)
    make_weights(source)
    source.get_layer("normed").moving_variance.assign(tf.ones(6))
    other(tf.ones((1, 5)))
    other.set_weights(source.get_weights())
    same = tf.reduce_max(tf.abs(source(x) - other(x)))
    copied = Subclassed.from_config(other.get_config())
    copied(x[:1])
    copied.set_weights(other.get_weights())
    base = tf.keras.Model(source.inputs, source.get_layer("normed").output)
    base.trainable = False
    inputs = tf.keras.Input((5,))
    tuned = tf.keras.Model(inputs, layers.Dense(3, kernel_initializer="ones")(base(inputs)))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    tuned.compile(tf.keras.optimizers.Adam(0.05), loss, metrics=["sparse_categorical_accuracy"])
    counts = [len(tuned.weights), len(tuned.trainable_weights), tuned.count_params()]
    frozen = tuned.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0).history
    base.trainable = True
    tuned.compile(tf.keras.optimizers.Adam(0.01), loss, metrics=["sparse_categorical_accuracy"])
    free = tuned.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0).history
    return same, copied(x[:2]), copied.name == other.name, counts, frozen, free, len(tuned.trainable_weights)


def masks_are_split_made_and_used(tf):
    """Layers that change, make and read masks, and a recurrent net with masks given by hand."""
    layers = tf.keras.layers

    class TemporalSplit(layers.Layer):
        def call(self, inputs):
            return tf.split(inputs, 2, axis=1)

        def compute_mask(self, inputs, mask=None):
            return None if mask is None else tf.split(mask, 2, axis=1)

    class CustomEmbedding(layers.Layer):
        def __init__(self, size, width, mask_zero=False, **kwargs):
            super().__init__(**kwargs)
            self.size, self.width, self.mask_zero = size, width, mask_zero

        def build(self, input_shape):
            self.embeddings = self.add_weight(
                shape=(self.size, self.width), initializer="random_normal", dtype="float32"
            )

        def call(self, inputs):
            return tf.nn.embedding_lookup(self.embeddings, tf.cast(inputs, "int32"))

        def compute_mask(self, inputs, mask=None):
            return inputs != 0 if self.mask_zero else None

    class TemporalSoftmax(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, inputs, mask=None):
            broadcast = tf.expand_dims(tf.cast(mask, "float32"), -1)
            exponentials = tf.exp(inputs) * broadcast
            return exponentials / tf.reduce_sum(exponentials, axis=1, keepdims=True)

    ids = np.array([[3, 1, 4, 2], [5, 2, 0, 0], [1, 0, 0, 0]])
    embed = CustomEmbedding(6, 3, mask_zero=True)
    embed(ids)
    embed.set_weights([make_values(6, 3)])
    first, second = TemporalSplit()(embed(ids))
    gated = layers.GRU(2, return_sequences=True, go_backwards=True)
    last = layers.LSTM(3, return_state=True, zero_output_for_mask=True)
    for layer, width in ((gated, 3), (last, 3)):
        layer.build((None, 4, width))
        make_weights(layer)
    inputs = tf.keras.Input(shape=(None,), dtype="int32")
    x = CustomEmbedding(6, 3, mask_zero=True)(inputs)
    x = layers.Dense(1)(x)
    model = tf.keras.Model(inputs, TemporalSoftmax()(x))
    make_weights(model)
    with tf.GradientTape() as tape:
        states = last(embed(ids), mask=embed.compute_mask(ids))
        total = tf.reduce_sum(states[0] * states[2])
    gradient = tf.convert_to_tensor(tape.gradient(total, embed.embeddings))
    return first, second, gated(embed(ids)), states, gradient, model(ids)


def callbacks_see_training_evaluation_and_prediction(tf):
    """The order of events, a rate that drops at epochs, and training that stops at the smallest loss."""
    events = []

    class Recorder(tf.keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            events.append(["train begin", sorted(logs or {})])

        def on_epoch_end(self, epoch, logs=None):
            events.append([f"epoch {epoch} end", sorted(logs)])

        def on_train_batch_end(self, batch, logs=None):
            events.append([f"batch {batch} end", sorted(logs)])

        def on_test_begin(self, logs=None):
            events.append(["test begin", sorted(logs or {})])

        def on_test_batch_end(self, batch, logs=None):
            events.append([f"test batch {batch} end", sorted(logs)])

        def on_predict_batch_end(self, batch, logs=None):
            events.append([f"predict batch {batch} end", sorted(logs)])

        def on_train_end(self, logs=None):
            events.append(["train end", sorted(logs)])

    class StopAtMinimum(tf.keras.callbacks.Callback):
        def __init__(self, patience=0):
            super().__init__()
            self.patience, self.best_weights = patience, None

        def on_train_begin(self, logs=None):
            self.wait, self.stopped_epoch, self.best = 0, 0, np.inf

        def on_epoch_end(self, epoch, logs=None):
            current = logs.get("loss")
            if np.less(current, self.best):
                self.best, self.wait, self.best_weights = current, 0, self.model.get_weights()
            else:
                self.wait += 1
                if self.wait >= self.patience:
                    self.stopped_epoch, self.model.stop_training = epoch, True
                    self.model.set_weights(self.best_weights)

    class Rates(tf.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            rate = float(np.asarray(self.model.optimizer.learning_rate))
            self.model.optimizer.learning_rate = rate * (0.5 if epoch == 2 else 3.0)

    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    make_weights(model)
    model.compile(tf.keras.optimizers.RMSprop(0.1), "mean_squared_error", metrics=["mean_absolute_error"])
    x, y = make_values(10, 3), make_values(10, 1, seed=3)
    stop = StopAtMinimum()
    history = model.fit(
        x, y, batch_size=5, epochs=6, verbose=0, shuffle=False, validation_split=0.4,
        callbacks=[Recorder(), stop, Rates()],
    )  # fmt: skip
    model.evaluate(x, y, batch_size=5, verbose=0, callbacks=[Recorder()])
    model.predict(x, batch_size=5, verbose=0, callbacks=[Recorder()])
    return events, history.history, stop.stopped_epoch, stop.best, model.get_weights()


def a_loop_from_scratch_with_validation(tf):
    """Compiled steps for training and testing, metrics that are reset, activity losses and accumulated gradients."""

    class ActivityPenalty(tf.keras.layers.Layer):
        def call(self, inputs):
            self.add_loss(1e-2 * tf.reduce_sum(inputs**2))
            return inputs

    inputs = tf.keras.Input((4,), name="digits")
    x = ActivityPenalty()(tf.keras.layers.Dense(8, activation="swish")(inputs))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(3, name="predictions")(x))
    make_weights(model)
    x, y = make_values(20, 4), np.arange(20) % 3
    training = tf.data.Dataset.from_tensor_slices((x[:14], y[:14])).batch(4)
    validation = tf.data.Dataset.from_tensor_slices((x[14:], y[14:])).batch(4)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    decay = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    optimizer = tf.keras.optimizers.SGD(
        decay, momentum=0.5, gradient_accumulation_steps=2, global_clipnorm=0.3
    )
    train_metric, val_metric = (tf.keras.metrics.SparseCategoricalAccuracy() for _ in range(2))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss_value = loss_fn(y, logits) + sum(model.losses)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply(grads, model.trainable_weights)
        train_metric.update_state(y, logits)
        return loss_value

    @tf.function
    def test_step(x, y):
        val_metric.update_state(y, model(x, training=False))

    found = []
    for _ in range(2):
        losses = [train_step(a, b) for a, b in training]
        for a, b in validation:
            test_step(a, b)
        found.append([losses, train_metric.result(), val_metric.result(), int(optimizer.iterations)])
        train_metric.reset_state()
        val_metric.reset_state()
    return found, model.get_weights()


def layers_that_quadratic_nets_and_their_regularizers_need(tf):
    """Weights of several kinds, a build of one's own, nested layers, losses of inner layers and configs."""

    class Antirectifier(tf.keras.layers.Layer):
        def __init__(self, units=4, initializer="ones", **kwargs):
            super().__init__(**kwargs)
            self.units, self.initializer = units, tf.keras.initializers.get(initializer)
            self.penalty = tf.keras.regularizers.OrthogonalRegularizer(0.1, mode="columns")

        def build(self, input_shape):
            self.kernel = self.add_weight(
                shape=(2 * input_shape[-1], self.units), initializer=self.initializer, name="kernel",
                trainable=True, regularizer=self.penalty,
            )  # fmt: skip
            self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False, name="calls")

        def call(self, inputs):
            self.calls.assign_add(1.0)
            centered = inputs - tf.reduce_mean(inputs, axis=-1, keepdims=True)
            mixed = tf.concat([tf.nn.relu(centered), tf.nn.relu(-centered)], axis=-1)
            return tf.matmul(mixed, self.kernel)

        def get_config(self):
            config = {"units": self.units, "initializer": tf.keras.initializers.serialize(self.initializer)}
            return {**super().get_config(), **config}

    class Tower(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__(name="tower")
            self.blocks = [Antirectifier(3, name="a"), Antirectifier(2, name="b")]

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    tower = Tower()
    x = tf.constant(make_values(5, 4))
    tower(x)
    make_weights(tower)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tower(x) ** 2) + tf.add_n(tower.losses)
    gradients = tape.gradient(loss, tower.trainable_weights)
    again = Antirectifier.from_config(tower.blocks[0].get_config())
    names = [w.name for w in tower.weights], [again.name, again.units, type(again.initializer).__name__]
    return loss, gradients, tower.losses, [b.calls for b in tower.blocks], names, again(x)
