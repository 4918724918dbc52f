"""Whole programs of TensorFlow's tutorials and guides: data, layers, training, evaluation and export of weights."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def regression_of_fuel_use(tf):
    """Normalization fitted to data, a linear model, a deep one, and their errors on other data."""
    x = make_values(24, 3) * np.float32([1.0, 10.0, 100.0]) + np.float32([0.0, 5.0, 50.0])
    y = (x @ np.float32([[2.0], [0.3], [-0.02]]) + 1.0).astype(np.float32)
    found = {}
    for name, hidden in (("linear", []), ("deep", [8, 4])):
        normalizer = tf.keras.layers.Normalization(axis=-1)
        normalizer.adapt(x)
        layers = [tf.keras.layers.Dense(n, activation="relu") for n in hidden]
        model = tf.keras.Sequential([tf.keras.Input((3,)), normalizer, *layers, tf.keras.layers.Dense(1)])
        trained = tf.keras.Sequential([tf.keras.Input((3,)), *model.layers[1:]])
        make_weights(trained)
        model.compile(optimizer=tf.keras.optimizers.Adam(0.1), loss="mean_absolute_error", metrics=["mse"])
        history = model.fit(x, y, epochs=3, batch_size=6, shuffle=False, validation_split=0.25, verbose=0)
        found[name] = (history.history, model.evaluate(x, y, verbose=0), model.predict(x[:3], verbose=0))
    return found


def overfitting_is_held_back(tf):
    """Four sizes with weight penalties, an inverse time schedule and early stopping."""
    x, y = make_values(32, 4), (make_values(32, 1, seed=8) > 0).astype(np.float32)
    schedule = tf.keras.optimizers.schedules.InverseTimeDecay(0.05, 8, 1.0, staircase=False)
    found = []
    for width, penalty in (
        (4, None),
        (8, tf.keras.regularizers.L2(0.01)),
        (8, tf.keras.regularizers.L1L2(0.001, 0.01)),
    ):
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [
                tf.keras.Input((4,)),
                layers.Dense(width, activation="elu", kernel_regularizer=penalty),
                layers.Dense(width, activation="elu", kernel_regularizer=penalty, activity_regularizer="l2"),
                layers.Dense(1),
            ]
        )
        make_weights(model)
        crossentropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
        metrics = [
            tf.keras.metrics.BinaryCrossentropy(from_logits=True, name="binary_crossentropy"),
            tf.keras.metrics.BinaryAccuracy(threshold=0.0, name="accuracy"),
        ]
        model.compile(tf.keras.optimizers.Adam(schedule), crossentropy, metrics=metrics)
        stop = tf.keras.callbacks.EarlyStopping(monitor="val_binary_crossentropy", patience=1, min_delta=0.02)
        history = model.fit(
            x[:24], y[:24], epochs=8, batch_size=8, shuffle=False, validation_data=(x[24:], y[24:]),
            callbacks=[stop], verbose=0,
        )  # fmt: skip
        found.append((history.history, stop.stopped_epoch, stop.best))
    return found


def a_convolutional_gan(tf):
    """A generator of transposed convolutions and batch normalization, with two optimizers in one compiled step."""
    layers = tf.keras.layers
    generator = tf.keras.Sequential(
        [
            tf.keras.Input((5,)),
            layers.Dense(2 * 2 * 4, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape((2, 2, 4)),
            layers.Conv2DTranspose(3, 3, strides=1, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(1, 3, strides=2, padding="same", use_bias=False, activation="tanh"),
        ]
    )
    critic = tf.keras.Sequential(
        [
            tf.keras.Input((4, 4, 1)),
            layers.Conv2D(3, 3, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    for model in (generator, critic):
        model.set_weights([np.abs(w) for w in make_positive(model)])
    cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = tf.keras.optimizers.Adam(1e-2), tf.keras.optimizers.Adam(1e-2)

    @tf.function
    def train_step(images, noise):
        with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
            generated = generator(noise, training=True)
            real, fake = critic(images, training=True), critic(generated, training=True)
            gen_loss = cross_entropy(tf.ones_like(fake), fake)
            disc_loss = cross_entropy(tf.ones_like(real), real) + cross_entropy(tf.zeros_like(fake), fake)
        for tape, loss, model, optimizer in zip(
            (gen_tape, disc_tape), (gen_loss, disc_loss), (generator, critic), optimizers, strict=True
        ):
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return gen_loss, disc_loss

    losses = [
        train_step(tf.constant(make_values(6, 4, 4, 1, seed=i)), tf.constant(make_values(6, 5, seed=9 + i)))
        for i in range(3)
    ]
    image = generator(tf.constant(make_values(2, 5)), training=False)
    return losses, image, list(generator.non_trainable_variables)


def make_positive(model):
    """Return the weights of `make_weights`, of which a variance may take the absolute values."""
    make_weights(model)
    return [w if len(w.shape) > 1 else np.abs(w) + 0.5 for w in model.get_weights()]


def signs_of_gradients_fool_a_classifier(tf):
    """The fast gradient sign method on a trained convolutional net, for several strengths."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((6, 6, 1)), layers.Conv2D(4, 3, activation="relu"), layers.AveragePooling2D(2),
         layers.Flatten(), layers.Dense(3, activation="softmax")]
    )  # fmt: skip
    make_weights(model)
    x, y = make_values(12, 6, 6, 1), np.arange(12) % 3
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=4, batch_size=4, shuffle=False, verbose=0)
    loss_object = tf.keras.losses.CategoricalCrossentropy()

    def adversarial_pattern(image, label):
        with tf.GradientTape() as tape:
            tape.watch(image)
            loss = loss_object(label, model(image))
        return tf.sign(tape.gradient(loss, image))

    image, label = tf.convert_to_tensor(x[:2]), tf.one_hot(y[:2], 3)
    signs = adversarial_pattern(image, label)
    found = [tf.reduce_sum(signs), model.evaluate(x, y, verbose=0)]
    for epsilon in (0.0, 0.01, 0.1, 0.3):
        adversarial = tf.clip_by_value(image + epsilon * signs, -1, 1)
        found.append(tf.reduce_max(model.predict(adversarial, verbose=0), axis=-1))
    return found


def images_to_images_with_skips(tf):
    """Blocks that halve and double images, skips between them, and a critic of two images at once."""
    layers = tf.keras.layers

    def down(filters, normed=True):
        block = [layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)]
        return tf.keras.Sequential(
            [*block, *([layers.BatchNormalization()] if normed else []), layers.LeakyReLU()]
        )

    def up(filters):
        return tf.keras.Sequential(
            [layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False),
             layers.BatchNormalization(), layers.ReLU()]
        )  # fmt: skip

    inputs = x = tf.keras.Input((8, 8, 1))
    skips = []
    for block in (down(2, False), down(3), down(3)):
        x = block(x)
        skips.append(x)
    for block, skip in zip((up(3), up(2)), reversed(skips[:-1]), strict=True):
        x = layers.Concatenate()([block(x), skip])
    last = layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh")
    generator = tf.keras.Model(inputs, last(x))
    first, second = tf.keras.Input((8, 8, 1)), tf.keras.Input((8, 8, 1))
    z = layers.ZeroPadding2D()(down(2, False)(layers.concatenate([first, second])))
    critic = tf.keras.Model([first, second], layers.Conv2D(1, 4, strides=1)(z))
    for model in (generator, critic):
        model.set_weights([np.abs(w) if len(w.shape) == 1 else w for w in make_positive(model)])
    entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = [tf.keras.optimizers.Adam(0.02, beta_1=0.5) for _ in range(2)]
    picture, target = (tf.constant(make_values(2, 8, 8, 1, seed=i)) for i in (3, 4))
    found = []
    for _ in range(2):
        with tf.GradientTape(persistent=True) as tape:
            made = generator(picture, training=True)
            real, fake = critic([picture, target], training=True), critic([picture, made], training=True)
            distance = tf.reduce_mean(tf.abs(target - made))
            total = entropy(tf.ones_like(fake), fake) + 100 * distance
            of_critic = entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(fake), fake)
        for loss, model, optimizer in zip((total, of_critic), (generator, critic), optimizers, strict=True):
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        found.append([total, of_critic, distance, real.shape])
    return found


def an_actor_critic_balances(tf):
    """Episodes in arrays, discounted and standardized returns, and the Huber loss of the critic."""

    class ActorCritic(tf.keras.Model):
        def __init__(self, actions, units):
            super().__init__()
            self.common = tf.keras.layers.Dense(units, activation="relu")
            self.actor, self.critic = tf.keras.layers.Dense(actions), tf.keras.layers.Dense(1)

        def call(self, inputs):
            x = self.common(inputs)
            return self.actor(x), self.critic(x)

    model = ActorCritic(2, 6)
    model(tf.zeros((1, 3)))
    make_weights(model)
    huber = tf.keras.losses.Huber(reduction="sum")
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
    push = tf.constant([[0.1, -0.2, 0.05], [-0.1, 0.2, 0.02]])

    def episode(state, steps):
        probs = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        values = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        rewards = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for t in range(steps):
            logits, value = model(tf.expand_dims(state, 0))
            action = int(tf.argmax(logits, 1)[0])
            state = 0.9 * state + push[action]
            probs = probs.write(t, tf.nn.softmax(logits)[0, action])
            values = values.write(t, tf.squeeze(value))
            rewards = rewards.write(t, 1.0 - tf.reduce_sum(state**2))
        return probs.stack(), values.stack(), rewards.stack()

    def expected_return(rewards, gamma=0.99):
        sums = tf.scan(lambda total, r: r + gamma * total, rewards[::-1], tf.constant(0.0))[::-1]
        eps = np.finfo(np.float32).eps.item()
        return (sums - tf.math.reduce_mean(sums)) / (tf.math.reduce_std(sums) + eps)

    found = []
    for i in range(3):
        with tf.GradientTape() as tape:
            probs, values, rewards = episode(tf.constant(make_values(3, seed=i)), 6)
            returns = expected_return(rewards)
            probs, values, returns = (tf.expand_dims(x, 1) for x in (probs, values, returns))
            loss = -tf.math.reduce_sum(tf.math.log(probs) * (returns - values)) + huber(values, returns)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        found.append((loss, tf.math.reduce_sum(rewards), tf.linalg.global_norm(grads)))
    return found


def skip_grams_with_negative_samples(tf):
    """Pairs of words from windows, a model of two embeddings and their products, trained from a data set."""
    rng = np.random.default_rng(7)
    words = rng.integers(1, 12, 40)
    pairs = [(int(words[i]), int(words[i + d])) for i in range(2, 38) for d in (-2, -1, 1, 2)]
    targets, contexts = np.array(pairs, np.int64).T
    negatives = rng.integers(1, 12, (len(pairs), 3))
    contexts = np.concatenate([contexts[:, None], negatives], 1)
    labels = np.tile(np.float32([1, 0, 0, 0]), (len(pairs), 1))
    dataset = tf.data.Dataset.from_tensor_slices(((targets, contexts), labels))
    dataset = dataset.batch(16, drop_remainder=True).cache().prefetch(buffer_size=tf.data.AUTOTUNE)

    class Word2Vec(tf.keras.Model):
        def __init__(self, size, width):
            super().__init__()
            self.target_embedding = tf.keras.layers.Embedding(size, width, name="w2v_embedding")
            self.context_embedding = tf.keras.layers.Embedding(size, width)

        def call(self, pair):
            target, context = pair
            if len(target.shape) == 2:
                target = tf.squeeze(target, axis=1)
            return tf.einsum("be,bce->bc", self.target_embedding(target), self.context_embedding(context))

    model = Word2Vec(12, 4)
    model((tf.constant([1, 2]), tf.constant([[1, 2, 3, 4]] * 2)))
    make_weights(model)
    loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.SGD(0.5, momentum=0.9, nesterov=True), loss, metrics=["accuracy"])
    history = model.fit(dataset, epochs=3, verbose=0)
    weights = model.get_layer("w2v_embedding").get_weights()[0]
    nearest = tf.linalg.matmul(
        tf.math.l2_normalize(weights, 1), tf.math.l2_normalize(weights, 1), transpose_b=True
    )
    return history.history, weights, tf.math.top_k(nearest, 2).indices


def make_positions(length, depth):
    """Return sines and cosines of positions at several rates."""
    rates = 1 / (10000 ** (np.arange(depth / 2)[None, :] / (depth / 2)))
    angles = np.arange(length)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


def a_transformer_reverses_sequences(tf):
    """Masked embeddings with positions, causal and cross attention, a warmup schedule, masked loss and accuracy."""
    layers, width = tf.keras.layers, 8

    class Positions(layers.Layer):
        def __init__(self, words):
            super().__init__()
            self.embedding = layers.Embedding(words, width, mask_zero=True)
            self.positions = tf.constant(make_positions(16, width))

        def compute_mask(self, *args, **kwargs):
            return self.embedding.compute_mask(*args, **kwargs)

        def call(self, x):
            scaled = self.embedding(x) * tf.math.sqrt(tf.cast(width, tf.float32))
            return scaled + self.positions[tf.newaxis, : tf.shape(x)[1], :]

    class Block(layers.Layer):
        def __init__(self, is_causal, crosses):
            super().__init__()
            self.is_causal = is_causal
            self.own, self.norm = layers.MultiHeadAttention(2, 4, dropout=0.0), layers.LayerNormalization()
            self.cross = layers.MultiHeadAttention(2, 4) if crosses else None
            self.cross_norm = layers.LayerNormalization()
            self.feed = tf.keras.Sequential([layers.Dense(12, activation="relu"), layers.Dense(width)])
            self.feed_norm, self.add = layers.LayerNormalization(), layers.Add()

        def call(self, x, context=None):
            x = self.norm(self.add([x, self.own(query=x, value=x, key=x, use_causal_mask=self.is_causal)]))
            if self.cross is not None:
                x = self.cross_norm(self.add([x, self.cross(query=x, key=context, value=context)]))
            return self.feed_norm(self.add([x, self.feed(x)]))

    class Transformer(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.source, self.target = Positions(9), Positions(9)
            self.encoder, self.decoder, self.final = Block(False, False), Block(True, True), layers.Dense(9)

        def call(self, inputs):
            context, x = inputs
            return self.final(self.decoder(self.target(x), context=self.encoder(self.source(context))))

    class Warmup(tf.keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            step = tf.cast(step, tf.float32)
            return tf.math.rsqrt(8.0) * tf.math.minimum(tf.math.rsqrt(step + 1.0), (step + 1.0) * 4.0**-1.5)

    def masked_loss(label, pred):
        mask = label != 0
        losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")(
            label, pred
        )
        mask = tf.cast(mask, losses.dtype)
        return tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)

    def masked_accuracy(label, pred):
        match, mask = tf.cast(label, tf.int64) == tf.argmax(pred, axis=2), label != 0
        return tf.reduce_sum(tf.cast(match & mask, tf.float32)) / tf.reduce_sum(tf.cast(mask, tf.float32))

    rng = np.random.default_rng(3)
    source = rng.integers(3, 9, (16, 5)) * (np.arange(5) < rng.integers(2, 6, (16, 1)))
    target = np.concatenate([np.full((16, 1), 1), source[:, ::-1]], 1)
    model = Transformer()
    model((source[:2], target[:2, :-1]))
    make_weights(model)
    optimizer = tf.keras.optimizers.SGD(Warmup(), momentum=0.5)
    model.compile(loss=masked_loss, optimizer=optimizer, metrics=[masked_accuracy])
    data = tf.data.Dataset.from_tensor_slices(((source, target[:, :-1]), target[:, 1:])).batch(8)
    history = model.fit(data, epochs=2, verbose=0)
    return (
        history.history,
        model.predict((source[:1], target[:1, :-1]), verbose=0)[0, -1],
        optimizer.learning_rate,
    )
