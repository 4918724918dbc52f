"""Programs of tutorials on published models: images, representations, flows, graphs and steps of optimizers."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_translation_of_images_by_a_u_net(tf):
    layers = tf.keras.layers

    def downsample(filters, size, apply_norm=True):
        result = tf.keras.Sequential()
        result.add(layers.Conv2D(filters, size, strides=2, padding="same", use_bias=False))
        if apply_norm:
            result.add(layers.BatchNormalization())
        result.add(layers.LeakyReLU())
        return result

    def upsample(filters, size):
        result = tf.keras.Sequential()
        result.add(layers.Conv2DTranspose(filters, size, strides=2, padding="same", use_bias=False))
        result.add(layers.BatchNormalization())
        result.add(layers.ReLU())
        return result

    inputs = layers.Input(shape=[8, 8, 2])
    x, skips = inputs, []
    for down in (downsample(3, 4, apply_norm=False), downsample(4, 4)):
        x = down(x)
        skips.append(x)
    for up, skip in zip([upsample(3, 4)], reversed(skips[:-1]), strict=True):
        x = layers.Concatenate()([up(x), skip])
    last = layers.Conv2DTranspose(2, 4, strides=2, padding="same", activation="tanh")
    generator = tf.keras.Model(inputs=inputs, outputs=last(x))
    make_weights(generator)
    source, target = make_values(2, 8, 8, 2), make_values(2, 8, 8, 2, seed=9)
    loss_object = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
    losses = []

    @tf.function
    def train_step(image, wanted):
        with tf.GradientTape() as tape:
            made = generator(image, training=True)
            adversarial = loss_object(tf.ones_like(made), made)
            l1 = tf.reduce_mean(tf.abs(wanted - made))
            total = adversarial + 100.0 * l1
        gradients = tape.gradient(total, generator.trainable_variables)
        optimizer.apply_gradients(zip(gradients, generator.trainable_variables, strict=True))
        return total, adversarial, l1

    for _ in range(3):
        losses.append(train_step(tf.constant(source), tf.constant(target)))
    return losses, generator(source, training=False)


def a_transfer_of_style(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((8, 8, 3))
    style_layer = layers.Conv2D(4, 3, activation="relu", name="style")(inputs)
    content_layer = layers.Conv2D(3, 3, strides=2, activation="relu", name="content")(style_layer)
    features = tf.keras.Model(inputs, [style_layer, content_layer])
    features.trainable = False
    make_weights(features)

    def gram_matrix(tensor):
        result = tf.linalg.einsum("bijc,bijd->bcd", tensor, tensor)
        shape = tf.shape(tensor)
        return result / tf.cast(shape[1] * shape[2], tf.float32)

    style_image, content_image = abs(make_values(1, 8, 8, 3)), abs(make_values(1, 8, 8, 3, seed=10))
    style_target = gram_matrix(features(style_image)[0])
    content_target = features(content_image)[1]
    image = tf.Variable(content_image)
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.02, beta_1=0.99, epsilon=1e-1)

    def variation(x):
        return tf.reduce_sum(tf.abs(x[:, :, 1:, :] - x[:, :, :-1, :])) + tf.reduce_sum(
            tf.abs(x[:, 1:, :, :] - x[:, :-1, :, :])
        )

    losses = []
    for _ in range(4):
        with tf.GradientTape() as tape:
            style, content = features(image)
            loss = 10.0 * tf.add_n([tf.reduce_mean((gram_matrix(style) - style_target) ** 2)])
            loss += tf.reduce_mean((content - content_target) ** 2)
            loss += 1e-3 * variation(image)
        grad = tape.gradient(loss, image)
        optimizer.apply_gradients([(grad, image)])
        image.assign(tf.clip_by_value(image, clip_value_min=0.0, clip_value_max=1.0))
        losses.append(loss)
    return losses, image


def a_dream_in_tiles(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((None, None, 2))
    model = tf.keras.Model(inputs, layers.Conv2D(3, 3, activation="relu")(inputs))
    make_weights(model)

    def random_roll(image, shift_down, shift_right):
        return tf.roll(image, shift=[shift_down, shift_right], axis=[0, 1])

    image = tf.constant(make_values(12, 10, 2))
    for scale, (down, right) in [(1.0, (2, 3)), (1.3, (-1, 4))]:
        size = tf.cast(tf.cast(tf.shape(image)[:-1], tf.float32) * scale, tf.int32)
        if scale != 1.0:
            image = image[: size[0] - 3, : size[1] - 2]
        rolled = random_roll(image, down, right)
        gradients = tf.zeros_like(rolled)
        for x in range(0, rolled.shape[0], 6):
            for y in range(0, rolled.shape[1], 6):
                with tf.GradientTape() as tape:
                    tape.watch(rolled)
                    tile = rolled[x : x + 6, y : y + 6]
                    if min(tile.shape[:2]) < 3:
                        continue
                    loss = tf.math.reduce_mean(model(tile[tf.newaxis]))
                gradients = gradients + tape.gradient(loss, rolled)
        gradients = random_roll(gradients, -down, -right)
        gradients /= tf.math.reduce_std(gradients) + 1e-8
        image = tf.clip_by_value(image + gradients * 0.01, -1, 1)
    return image


def an_adversarial_example(tf):
    model = tf.keras.Sequential(
        [
            tf.keras.Input((6, 6, 1)),
            tf.keras.layers.Conv2D(2, 3, activation="relu"),
            tf.keras.layers.Flatten(),
        ]
    )
    model.add(tf.keras.layers.Dense(3, activation="softmax"))
    make_weights(model)
    image = tf.convert_to_tensor(make_values(1, 6, 6, 1))
    label = tf.reshape(tf.one_hot(1, 3), (1, 3))
    with tf.GradientTape() as tape:
        tape.watch(image)
        loss = tf.keras.losses.CategoricalCrossentropy()(label, model(image))
    signed = tf.sign(tape.gradient(loss, image))
    found = []
    for epsilon in (0.0, 0.1, 0.3):
        adversarial = tf.clip_by_value(image + epsilon * signed, -1, 1)
        probabilities = model.predict(adversarial, verbose=0)
        found.append((int(tf.argmax(probabilities[0])), probabilities))
    return signed, found


def integrated_gradients_of_a_classifier(tf):
    model = tf.keras.Sequential(
        [tf.keras.Input((5,)), tf.keras.layers.Dense(6, "tanh"), tf.keras.layers.Dense(3)]
    )
    make_weights(model)
    baseline, example = tf.zeros(5), tf.constant(make_values(5))

    def interpolate(alphas):
        alphas_x = alphas[:, tf.newaxis]
        baseline_x, input_x = tf.expand_dims(baseline, axis=0), tf.expand_dims(example, axis=0)
        return baseline_x + alphas_x * (input_x - baseline_x)

    @tf.function
    def one_batch(alphas):
        points = interpolate(alphas)
        with tf.GradientTape() as tape:
            tape.watch(points)
            probabilities = tf.nn.softmax(model(points), axis=-1)[:, 2]
        return tape.gradient(probabilities, points)

    alphas = tf.linspace(start=0.0, stop=1.0, num=11)
    batches = []
    for first in tf.range(0, len(alphas), 4):
        last = tf.minimum(first + 4, len(alphas))
        batches.append(one_batch(alphas[first:last]))
    total = tf.concat(batches, axis=0)
    average = tf.math.reduce_mean((total[:-1] + total[1:]) / tf.constant(2.0), axis=0)
    attributions = (example - baseline) * average
    return attributions, tf.reduce_sum(attributions)


def words_as_vectors(tf):
    class Word2Vec(tf.keras.Model):
        def __init__(self, vocab_size, embedding_dim):
            super().__init__()
            self.target_embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim, name="w2v_embedding")
            self.context_embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)

        def call(self, pair):
            target, context = pair
            if len(target.shape) == 2:
                target = tf.squeeze(target, axis=1)
            word, others = self.target_embedding(target), self.context_embedding(context)
            return tf.einsum("be,bce->bc", word, others)

    rng = np.random.default_rng(0)
    targets, contexts = rng.integers(0, 9, (12,)), rng.integers(0, 9, (12, 4))
    labels = np.tile([1, 0, 0, 0], (12, 1))
    dataset = tf.data.Dataset.from_tensor_slices(((targets, contexts), labels)).batch(6, drop_remainder=True)
    model = Word2Vec(9, 3)
    model((tf.constant(targets), tf.constant(contexts)))
    make_weights(model)
    loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.5), loss=loss, metrics=["accuracy"])
    history = model.fit(dataset.cache().prefetch(2), epochs=2, shuffle=False, verbose=0)
    return history.history["loss"], model.get_layer("w2v_embedding").get_weights()[0]


def vectors_of_a_codebook(tf):
    encoder, decoder = tf.keras.layers.Dense(2), tf.keras.layers.Dense(4)
    x = tf.constant(make_values(6, 4))
    encoder.build((None, 4))
    decoder.build((None, 2))
    make_weights(encoder, decoder)
    codebook = tf.Variable(make_values(2, 5, seed=11))
    variables = encoder.trainable_weights + decoder.trainable_weights + [codebook]
    optimizer = tf.keras.optimizers.SGD(0.1)
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            z = encoder(x)
            similarity = tf.matmul(z, codebook)
            distances = tf.reduce_sum(z**2, axis=1, keepdims=True) + tf.reduce_sum(codebook**2, axis=0)
            indices = tf.argmin(distances - 2 * similarity, axis=1)
            quantized = tf.matmul(tf.one_hot(indices, 5), codebook, transpose_b=True)
            commitment = tf.reduce_mean((tf.stop_gradient(quantized) - z) ** 2)
            codebook_loss = tf.reduce_mean((quantized - tf.stop_gradient(z)) ** 2)
            straight_through = z + tf.stop_gradient(quantized - z)
            loss = tf.reduce_mean((decoder(straight_through) - x) ** 2) + 0.25 * commitment + codebook_loss
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(loss)
    return losses, indices, codebook


def contrastive_learning_of_two_views(tf):
    def nt_xent(first, second, temperature=0.1):
        first, second = tf.math.l2_normalize(first, axis=1), tf.math.l2_normalize(second, axis=1)
        similarities = tf.matmul(first, second, transpose_b=True) / temperature
        labels = tf.range(tf.shape(first)[0])
        one = tf.keras.losses.sparse_categorical_crossentropy(labels, similarities, from_logits=True)
        other = tf.keras.losses.sparse_categorical_crossentropy(
            labels, tf.transpose(similarities), from_logits=True
        )
        return (tf.reduce_mean(one) + tf.reduce_mean(other)) / 2

    head = tf.keras.Sequential(
        [tf.keras.Input((4,)), tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(3)]
    )
    make_weights(head)
    a, b = tf.constant(make_values(5, 4)), tf.constant(make_values(5, 4, seed=12))
    with tf.GradientTape() as tape:
        loss = nt_xent(head(a), head(b))
    return loss, tape.gradient(loss, head.trainable_weights)


def a_student_learns_from_its_teacher(tf):
    class Distiller(tf.keras.Model):
        def __init__(self, student, teacher):
            super().__init__()
            self.teacher, self.student = teacher, student

        def compile(
            self, optimizer, metrics, student_loss_fn, distillation_loss_fn, alpha=0.1, temperature=3
        ):
            super().compile(optimizer=optimizer, metrics=metrics)
            self.student_loss_fn, self.distillation_loss_fn = student_loss_fn, distillation_loss_fn
            self.alpha, self.temperature = alpha, temperature

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, **others):
            teacher_pred = self.teacher(x, training=False)
            student_loss = self.student_loss_fn(y, y_pred)
            distillation_loss = self.distillation_loss_fn(
                tf.nn.softmax(teacher_pred / self.temperature, axis=1),
                tf.nn.softmax(y_pred / self.temperature, axis=1),
            ) * (self.temperature**2)
            return self.alpha * student_loss + (1 - self.alpha) * distillation_loss

        def call(self, x):
            return self.student(x)

    def classifier():
        return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])

    student, teacher = classifier(), classifier()
    make_weights(student, teacher)
    distiller = Distiller(student=student, teacher=teacher)
    distiller.compile(
        optimizer=tf.keras.optimizers.Adam(0.05),
        metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
        student_loss_fn=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        distillation_loss_fn=tf.keras.losses.KLDivergence(),
        alpha=0.1,
        temperature=10,
    )
    labels = np.arange(8) % 3
    history = distiller.fit(make_values(8, 4), labels, batch_size=4, epochs=2, shuffle=False, verbose=0)
    return history.history["loss"], student.get_weights()


def a_real_valued_flow(tf):
    class RealNVP(tf.keras.Model):
        def __init__(self, layers_of_coupling):
            super().__init__()
            self.masks = np.array([[0, 1], [1, 0]] * (layers_of_coupling // 2), dtype="float32")
            self.scales = [
                tf.keras.Sequential([tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(2, "tanh")])
                for _ in range(layers_of_coupling)
            ]
            self.shifts = [tf.keras.layers.Dense(2) for _ in range(layers_of_coupling)]
            self.loss_tracker = tf.keras.metrics.Mean(name="loss")

        @property
        def metrics(self):
            return [self.loss_tracker]

        def call(self, x):
            log_det_inv = 0.0
            for i in range(len(self.masks))[::-1]:
                kept = x * self.masks[i]
                reversed_mask = 1 - self.masks[i]
                s, t = self.scales[i](kept) * reversed_mask, self.shifts[i](kept) * reversed_mask
                x = reversed_mask * (x * tf.exp(-s) - t * tf.exp(-s)) + kept
                log_det_inv += tf.reduce_sum(-s, axis=[1])
            return x, log_det_inv

        def log_loss(self, x):
            y, logdet = self(x)
            log_likelihood = -0.5 * tf.reduce_sum(y**2, axis=1) - float(np.log(2 * np.pi)) + logdet
            return -tf.reduce_mean(log_likelihood)

        def train_step(self, data):
            with tf.GradientTape() as tape:
                loss = self.log_loss(data)
            g = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(g, self.trainable_variables, strict=True))
            self.loss_tracker.update_state(loss)
            return {"loss": self.loss_tracker.result()}

    model = RealNVP(4)
    data = make_values(12, 2)
    model(data)
    make_weights(model)
    model.compile(optimizer=tf.keras.optimizers.Adam(learning_rate=0.01))
    history = model.fit(data, batch_size=6, epochs=3, shuffle=False, verbose=0)
    return history.history["loss"], model.log_loss(data)
