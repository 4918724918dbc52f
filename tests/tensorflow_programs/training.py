"""Programs on training loops, optimizers, Keras models and data sets."""

import numpy as np

RNG = np.random.default_rng(3)
X = RNG.normal(size=201).astype(np.float32)
Y = (X * 3.0 + 2.0 + 0.1 * RNG.normal(size=201)).astype(np.float32)
IMAGES = RNG.normal(size=(64, 5)).astype(np.float32)
LABELS = (IMAGES @ RNG.normal(size=(5, 3))).argmax(1)


def make_line(tf):
    class Line(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = tf.Variable(5.0), tf.Variable(0.0)

        def __call__(self, x):
            return self.w * x + self.b

    return Line()


def a_line_is_fitted_by_hand(tf):
    model, losses = make_line(tf), []
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.constant(Y) - model(tf.constant(X))))
        dw, db = tape.gradient(loss, [model.w, model.b])
        model.w.assign_sub(0.1 * dw)
        model.b.assign_sub(0.1 * db)
        losses.append(float(loss))
    return losses, model.w, model.b


def a_line_is_fitted_by_keras(tf):
    class Line(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(5.0))

        def call(self, x, training=False):
            return self.dense(x)

    model = Line()
    model.compile(
        optimizer=tf.keras.optimizers.SGD(learning_rate=0.1), loss=tf.keras.losses.MeanSquaredError()
    )
    history = model.fit(X[:, None], Y[:, None], epochs=5, batch_size=len(X), verbose=0, shuffle=False)
    return history.history["loss"], [tf.reshape(w, [-1]) for w in model.get_weights()]


def make_net(tf):
    weights = np.random.default_rng(4)
    net = tf.keras.Sequential(
        [tf.keras.layers.Input((5,)), tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(3)]
    )
    net.set_weights([weights.normal(size=w.shape).astype(np.float32) for w in net.get_weights()])
    return net


def a_custom_loop_with_metrics(tf):
    net, optimizer = make_net(tf), tf.keras.optimizers.Adam(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mean, accuracy = tf.keras.metrics.Mean(), tf.keras.metrics.SparseCategoricalAccuracy()
    batches = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).batch(16)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = net(x, training=True)
            loss = loss_of(y, logits)
        gradients = tape.gradient(loss, net.trainable_weights)
        optimizer.apply_gradients(zip(gradients, net.trainable_weights, strict=True))
        mean.update_state(loss)
        accuracy.update_state(y, logits)
        return loss

    found = []
    for _ in range(3):
        for x, y in batches:
            train_step(x, y)
        found.append((float(mean.result()), float(accuracy.result())))
        mean.reset_state()
        accuracy.reset_state()
    return found, net.get_weights()


def losses_of_layers_are_added(tf):
    class Penalty(tf.keras.layers.Layer):
        def call(self, x):
            self.add_loss(1e-2 * tf.reduce_sum(x))
            return x

    layer = Penalty()
    first = layer(tf.constant(IMAGES))
    return first, layer.losses, len(layer.losses)


def compiled_training(tf):
    net = make_net(tf)
    net.compile(
        optimizer=tf.keras.optimizers.RMSprop(0.01),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = net.fit(IMAGES, LABELS, epochs=3, batch_size=16, shuffle=False, verbose=0)
    return history.history["loss"], history.history["accuracy"], net.evaluate(IMAGES, LABELS, verbose=0)


def momentum_by_hand(tf):
    x, velocity, path = tf.Variable(2.0), tf.Variable(0.0), []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = 2 * x**4 + 3 * x**3 + 2
        velocity.assign(0.9 * velocity + tape.gradient(loss, x))
        x.assign_sub(0.01 * velocity)
        path.append(float(x))
    return path


def optimizers_of_keras(tf):
    found = {}
    for name in ("SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion"):
        x = tf.Variable([2.0, -1.0])
        optimizer = getattr(tf.keras.optimizers, name)(learning_rate=0.1)
        for _ in range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(2 * x**4 + 3 * x**3 + 2)
            optimizer.apply_gradients([(tape.gradient(loss, x), x)])
        found[name] = x.numpy()
    return found


def a_learning_rate_schedule(tf):
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(
        0.1, decay_steps=2, decay_rate=0.5, staircase=True
    )
    x, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(schedule)
    path = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = x**2
        optimizer.apply_gradients([(tape.gradient(loss, x), x)])
        path.append((float(x), int(optimizer.iterations)))
    return path


def a_data_set_is_transformed(tf):
    data = tf.data.Dataset.range(10).map(lambda x: x * 2).filter(lambda x: x % 3 != 0).batch(3).repeat(2)
    return [batch.numpy() for batch in data], [int(x) for x in tf.data.Dataset.range(3).as_numpy_iterator()]


def data_sets_are_zipped(tf):
    a, b = tf.data.Dataset.range(4), tf.data.Dataset.from_tensor_slices([0.5, 1.5, 2.5])
    return [(int(x), float(y)) for x, y in tf.data.Dataset.zip((a, b))], [
        (int(x), y.numpy()) for x, y in tf.data.Dataset.zip((a.skip(1).take(2), b.batch(2)))
    ]


def a_model_counts_its_parameters(tf):
    net = make_net(tf)
    return (
        net.count_params(),
        [tuple(w.shape) for w in net.weights],
        net(IMAGES[:2]),
        net.predict(IMAGES[:2], verbose=0),
    )


def a_frozen_layer_is_not_trained(tf):
    net = make_net(tf)
    net.layers[0].trainable = False
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(IMAGES) ** 2)
    gradients = tape.gradient(loss, net.trainable_weights)
    return len(net.trainable_weights), len(net.non_trainable_weights), gradients


def gradients_are_clipped(tf):
    gradients = [tf.constant([3.0, 4.0]), tf.constant([12.0])]
    clipped, norm = tf.clip_by_global_norm(gradients, 6.5)
    return clipped, norm, tf.clip_by_value(gradients[0], -1.0, 3.5), tf.linalg.global_norm(gradients)


def a_generative_pair_is_trained(tf):
    generator, critic = tf.Variable([[0.5, -0.3]]), tf.Variable([[0.7], [0.2]])
    optimizers = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
    noise, real = tf.constant(IMAGES[:8, :1]), tf.constant(IMAGES[:8, 1:3])
    cross = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    found = []
    for _ in range(3):
        with tf.GradientTape() as of_generator, tf.GradientTape() as of_critic:
            fake = tf.matmul(noise, generator)
            on_real, on_fake = tf.matmul(real, critic), tf.matmul(fake, critic)
            generator_loss = cross(tf.ones_like(on_fake), on_fake)
            critic_loss = cross(tf.ones_like(on_real), on_real) + cross(tf.zeros_like(on_fake), on_fake)
        pairs = (
            of_generator.gradient(generator_loss, [generator]),
            of_critic.gradient(critic_loss, [critic]),
        )
        optimizers[0].apply_gradients(zip(pairs[0], [generator], strict=True))
        optimizers[1].apply_gradients(zip(pairs[1], [critic], strict=True))
        found.append((float(generator_loss), float(critic_loss)))
    return found, generator, critic
