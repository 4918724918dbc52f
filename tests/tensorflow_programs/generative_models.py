"""Programs of textbooks: generative models, sequences, reinforcement learning, with training loops of their own."""

import numpy as np


def make_values(*shape, seed=5, scale=0.5):
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def make_weights(*models, seed=6):
    """Give models weights that do not depend on the package."""
    rng = np.random.default_rng(seed)
    for model in models:
        model.set_weights([(0.4 * rng.normal(size=w.shape)).astype(np.float32) for w in model.get_weights()])


def make_gan(tf):
    layers = tf.keras.layers
    generator = tf.keras.Sequential(
        [tf.keras.Input((3,)), layers.Dense(8), layers.LeakyReLU(negative_slope=0.2), layers.Dense(4)]
    )
    critic = tf.keras.Sequential(
        [tf.keras.Input((4,)), layers.Dense(8), layers.LeakyReLU(negative_slope=0.2), layers.Dense(1)]
    )
    make_weights(generator, critic)
    return generator, critic


def a_gan_with_its_own_train_step(tf):
    class GAN(tf.keras.Model):
        def __init__(self, discriminator, generator):
            super().__init__()
            self.discriminator, self.generator = discriminator, generator
            self.d_loss_tracker = tf.keras.metrics.Mean(name="d_loss")
            self.g_loss_tracker = tf.keras.metrics.Mean(name="g_loss")

        def compile(self, d_optimizer, g_optimizer, loss_fn):
            super().compile()
            self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

        @property
        def metrics(self):
            return [self.d_loss_tracker, self.g_loss_tracker]

        def train_step(self, data):
            real, noise = data
            batch_size = tf.shape(real)[0]
            generated = self.generator(noise)
            combined = tf.concat([generated, real], axis=0)
            labels = tf.concat([tf.ones((batch_size, 1)), tf.zeros((batch_size, 1))], axis=0)
            with tf.GradientTape() as tape:
                predictions = self.discriminator(combined)
                d_loss = self.loss_fn(labels, predictions)
            grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
            self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights, strict=True))
            misleading = tf.zeros((batch_size, 1))
            with tf.GradientTape() as tape:
                predictions = self.discriminator(self.generator(noise))
                g_loss = self.loss_fn(misleading, predictions)
            grads = tape.gradient(g_loss, self.generator.trainable_weights)
            self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights, strict=True))
            self.d_loss_tracker.update_state(d_loss)
            self.g_loss_tracker.update_state(g_loss)
            return {"d_loss": self.d_loss_tracker.result(), "g_loss": self.g_loss_tracker.result()}

    generator, critic = make_gan(tf)
    gan = GAN(discriminator=critic, generator=generator)
    gan.compile(
        d_optimizer=tf.keras.optimizers.Adam(learning_rate=0.0003),
        g_optimizer=tf.keras.optimizers.Adam(learning_rate=0.0003),
        loss_fn=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    )
    data = tf.data.Dataset.from_tensor_slices((make_values(24, 4), make_values(24, 3, seed=7))).batch(8)
    history = gan.fit(data, epochs=2, verbose=0)
    return history.history, generator.get_weights()[0]


def a_wasserstein_gan_with_a_gradient_penalty(tf):
    generator, critic = make_gan(tf)
    d_optimizer = tf.keras.optimizers.Adam(0.01, beta_1=0.5, beta_2=0.9)
    g_optimizer = tf.keras.optimizers.Adam(0.01, beta_1=0.5, beta_2=0.9)

    def gradient_penalty(real, fake, alpha):
        interpolated = real + alpha * (fake - real)
        with tf.GradientTape() as gp_tape:
            gp_tape.watch(interpolated)
            pred = critic(interpolated, training=True)
        grads = gp_tape.gradient(pred, [interpolated])[0]
        norm = tf.sqrt(tf.reduce_sum(tf.square(grads), axis=[1]))
        return tf.reduce_mean((norm - 1.0) ** 2)

    @tf.function
    def train_step(real, noise, alpha):
        for _ in range(2):
            with tf.GradientTape() as tape:
                fake = generator(noise, training=True)
                cost = tf.reduce_mean(critic(fake, training=True)) - tf.reduce_mean(
                    critic(real, training=True)
                )
                penalty = gradient_penalty(real, fake, alpha)
                d_loss = cost + penalty * 10.0
            gradient = tape.gradient(d_loss, critic.trainable_variables)
            d_optimizer.apply_gradients(zip(gradient, critic.trainable_variables, strict=True))
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(critic(generator(noise, training=True), training=True))
        gradient = tape.gradient(g_loss, generator.trainable_variables)
        g_optimizer.apply_gradients(zip(gradient, generator.trainable_variables, strict=True))
        return d_loss, g_loss, penalty

    found = []
    for i in range(3):
        noise, alpha = make_values(8, 3, seed=i), np.float32(0.5) + make_values(8, 1, seed=10 + i)
        found.append(train_step(tf.constant(make_values(8, 4)), tf.constant(noise), tf.constant(alpha)))
    return found, critic.get_weights()


def a_variational_autoencoder(tf):
    layers = tf.keras.layers

    class Sampling(layers.Layer):
        def call(self, inputs):
            z_mean, z_log_var = inputs
            epsilon = tf.constant(make_values(*z_mean.shape, seed=2))
            return z_mean + tf.exp(0.5 * z_log_var) * epsilon

    class Encoder(layers.Layer):
        def __init__(self, latent_dim=2, intermediate_dim=8, name="encoder", **kwargs):
            super().__init__(name=name, **kwargs)
            self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
            self.dense_mean = layers.Dense(latent_dim)
            self.dense_log_var = layers.Dense(latent_dim)
            self.sampling = Sampling()

        def call(self, inputs):
            x = self.dense_proj(inputs)
            z_mean, z_log_var = self.dense_mean(x), self.dense_log_var(x)
            return z_mean, z_log_var, self.sampling((z_mean, z_log_var))

    class Decoder(layers.Layer):
        def __init__(self, original_dim, intermediate_dim=8, name="decoder", **kwargs):
            super().__init__(name=name, **kwargs)
            self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
            self.dense_output = layers.Dense(original_dim, activation="sigmoid")

        def call(self, inputs):
            return self.dense_output(self.dense_proj(inputs))

    class VariationalAutoEncoder(tf.keras.Model):
        def __init__(self, original_dim, name="autoencoder", **kwargs):
            super().__init__(name=name, **kwargs)
            self.encoder, self.decoder = Encoder(), Decoder(original_dim)

        def call(self, inputs):
            z_mean, z_log_var, z = self.encoder(inputs)
            kl_loss = -0.5 * tf.reduce_mean(z_log_var - tf.square(z_mean) - tf.exp(z_log_var) + 1)
            self.add_loss(kl_loss)
            return self.decoder(z)

    vae = VariationalAutoEncoder(6)
    optimizer = tf.keras.optimizers.Adam(learning_rate=1e-2)
    mse_loss_fn = tf.keras.losses.MeanSquaredError()
    loss_metric = tf.keras.metrics.Mean()
    x = tf.constant(np.abs(make_values(8, 6)))
    vae(x)
    make_weights(vae)
    found = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            reconstructed = vae(x)
            loss = mse_loss_fn(x, reconstructed)
            loss += sum(vae.losses)
        grads = tape.gradient(loss, vae.trainable_weights)
        optimizer.apply_gradients(zip(grads, vae.trainable_weights, strict=True))
        loss_metric(loss)
        found.append(loss_metric.result())
    return found, vae.name, vae.encoder.name, [w.shape for w in vae.weights]


def a_variational_autoencoder_of_convolutions(tf):
    layers = tf.keras.layers
    encoder = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(2 + 2),
        ]
    )
    decoder = tf.keras.Sequential(
        [
            tf.keras.Input((2,)),
            layers.Dense(4 * 4 * 2, activation="relu"),
            layers.Reshape((4, 4, 2)),
            layers.Conv2DTranspose(filters=4, kernel_size=3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(filters=1, kernel_size=3, strides=1, padding="same"),
        ]
    )
    make_weights(encoder, decoder)

    def log_normal_pdf(sample, mean, logvar, raxis=1):
        log2pi = tf.math.log(2.0 * np.pi)
        return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=raxis)

    def compute_loss(x):
        mean, logvar = tf.split(encoder(x), num_or_size_splits=2, axis=1)
        z = make_values(4, 2, seed=9) * tf.exp(logvar * 0.5) + mean
        cross_ent = tf.nn.sigmoid_cross_entropy_with_logits(logits=decoder(z), labels=x)
        logpx_z = -tf.reduce_sum(cross_ent, axis=[1, 2, 3])
        logpz = log_normal_pdf(z, 0.0, 0.0)
        return -tf.reduce_mean(logpx_z + logpz - log_normal_pdf(z, mean, logvar))

    optimizer = tf.keras.optimizers.Adam(1e-3)
    variables = encoder.trainable_variables + decoder.trainable_variables
    x = tf.cast(tf.constant(make_values(4, 8, 8, 1)) > 0.0, tf.float32)
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = compute_loss(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(loss)
    return losses, decoder.output_shape, encoder.count_params()


def deep_q_learning(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            layers.Dense(8, activation="elu"),
            layers.Dense(8, activation="elu"),
            layers.Dense(2),
        ]
    )
    make_weights(model)
    target = tf.keras.models.clone_model(model)
    target.set_weights(model.get_weights())
    optimizer = tf.keras.optimizers.Nadam(learning_rate=1e-2)
    loss_fn = tf.keras.losses.Huber()
    losses = []
    for i in range(4):
        states, next_states = make_values(6, 4, seed=i), make_values(6, 4, seed=i + 20)
        actions, rewards = np.arange(6) % 2, make_values(6, seed=i + 40)
        dones = np.arange(6) == i
        next_q = model.predict(next_states, verbose=0)
        best = next_q.argmax(axis=1)
        mask = tf.one_hot(best, 2).numpy()
        max_next = (target.predict(next_states, verbose=0) * mask).sum(axis=1)
        targets = (rewards + (1.0 - dones) * 0.95 * max_next).reshape(-1, 1)
        mask = tf.one_hot(actions, 2)
        with tf.GradientTape() as tape:
            all_q = model(states)
            q_values = tf.reduce_sum(all_q * mask, axis=1, keepdims=True)
            loss = tf.reduce_mean(loss_fn(targets, q_values))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        losses.append(loss)
        if i % 2 == 1:
            target.set_weights(
                [0.9 * t + 0.1 * w for t, w in zip(target.get_weights(), model.get_weights(), strict=True)]
            )
    return losses, target.get_weights()


def an_actor_and_a_critic(tf):
    class ActorCritic(tf.keras.Model):
        def __init__(self, num_actions, num_hidden_units):
            super().__init__()
            self.common = tf.keras.layers.Dense(num_hidden_units, activation="relu")
            self.actor = tf.keras.layers.Dense(num_actions)
            self.critic = tf.keras.layers.Dense(1)

        def call(self, inputs):
            x = self.common(inputs)
            return self.actor(x), self.critic(x)

    def get_expected_return(rewards, gamma=0.99, standardize=True):
        n = tf.shape(rewards)[0]
        returns = tf.TensorArray(dtype=tf.float32, size=n)
        rewards = tf.cast(rewards[::-1], dtype=tf.float32)
        discounted_sum = tf.constant(0.0)
        shape = discounted_sum.shape
        for i in tf.range(n):
            reward = rewards[i]
            discounted_sum = reward + gamma * discounted_sum
            discounted_sum.set_shape(shape)
            returns = returns.write(i, discounted_sum)
        returns = returns.stack()[::-1]
        if standardize:
            returns = (returns - tf.math.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-7)
        return returns

    model = ActorCritic(2, 8)
    model(tf.zeros([1, 4]))
    make_weights(model)
    huber = tf.keras.losses.Huber(reduction="sum")
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)

    @tf.function
    def train_step(states, actions, rewards):
        with tf.GradientTape() as tape:
            logits, values = model(states)
            probabilities = tf.nn.softmax(logits)
            taken = tf.gather(probabilities, actions, batch_dims=1)
            returns = get_expected_return(rewards)
            action_probs, values, returns = [
                tf.expand_dims(x, 1) for x in [taken, tf.squeeze(values), returns]
            ]
            advantage = returns - values
            actor_loss = -tf.math.reduce_sum(tf.math.log(action_probs) * advantage)
            loss = actor_loss + huber(values, returns)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        return loss

    actions = tf.constant([0, 1, 1, 0, 1])
    found = []
    for i in range(3):
        rewards = tf.constant(make_values(5, seed=i))
        found.append(train_step(tf.constant(make_values(5, 4, seed=i + 5)), actions, rewards))
    return found, model.get_weights()


def a_triplet_loss(tf):
    class SiameseModel(tf.keras.Model):
        def __init__(self, embedding, margin=0.5):
            super().__init__()
            self.embedding, self.margin = embedding, margin
            self.loss_tracker = tf.keras.metrics.Mean(name="loss")

        def call(self, inputs):
            anchor, positive, negative = [self.embedding(x) for x in inputs]
            ap = tf.reduce_sum(tf.square(anchor - positive), -1)
            return ap, tf.reduce_sum(tf.square(anchor - negative), -1)

        def _loss(self, data):
            ap, an = self(data)
            return tf.maximum(ap - an + self.margin, 0.0)

        def train_step(self, data):
            with tf.GradientTape() as tape:
                loss = self._loss(data)
            gradients = tape.gradient(loss, self.embedding.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.embedding.trainable_weights, strict=True))
            self.loss_tracker.update_state(loss)
            return {"loss": self.loss_tracker.result()}

        def test_step(self, data):
            self.loss_tracker.update_state(self._loss(data))
            return {"loss": self.loss_tracker.result()}

        @property
        def metrics(self):
            return [self.loss_tracker]

    embedding = tf.keras.Sequential([tf.keras.Input((5,)), tf.keras.layers.Dense(3)])
    make_weights(embedding)
    model = SiameseModel(embedding)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.01))
    parts = tuple(tf.data.Dataset.from_tensor_slices(make_values(12, 5, seed=s)) for s in (1, 2, 3))
    # The elements of `zip` are one tuple of three, so the step receives all of them.
    data = tf.data.Dataset.zip(parts).batch(4)
    history = model.fit(data, epochs=2, validation_data=data, verbose=0)
    return history.history


def denoising_diffusion(tf):
    """The guide's schedule of noise and one network that predicts the noise, with averaged weights."""
    betas = np.linspace(1e-3, 0.2, 10, dtype=np.float32)
    alphas = tf.math.cumprod(1.0 - tf.constant(betas))
    net = tf.keras.Sequential(
        [tf.keras.Input((5,)), tf.keras.layers.Dense(8, activation="silu"), tf.keras.layers.Dense(4)]
    )
    average = tf.keras.models.clone_model(net)
    make_weights(net)
    average.set_weights(net.get_weights())
    optimizer = tf.keras.optimizers.AdamW(1e-2, weight_decay=1e-3)
    x, losses = tf.constant(make_values(6, 4)), []

    @tf.function
    def step(t, noise):
        a = tf.gather(alphas, t)[:, tf.newaxis]
        noisy = tf.sqrt(a) * x + tf.sqrt(1.0 - a) * noise
        with tf.GradientTape() as tape:
            predicted = net(tf.concat([noisy, tf.cast(t, tf.float32)[:, None] / 10.0], -1), training=True)
            loss = tf.reduce_mean((noise - predicted) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables, strict=True)
        )
        for ema, w in zip(average.weights, net.weights, strict=True):
            ema.assign(0.9 * ema + 0.1 * w)
        return loss

    for i in range(4):
        losses.append(step(tf.constant(np.arange(6) + i, tf.int32), tf.constant(make_values(6, 4, seed=i))))
    return losses, average.get_weights()
