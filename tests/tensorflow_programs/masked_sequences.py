"""Programs of textbooks: sequences of different lengths, with masks."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def make_padded(batch=5, time=6, words=9, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, words, (batch, time))
    for row, length in enumerate(rng.integers(1, time + 1, batch)):
        x[row, length:] = 0
    return x


def an_embedding_masks_zeros(tf):
    layers = tf.keras.layers
    x = make_padded()
    embedding = layers.Embedding(9, 4, mask_zero=True)
    vectors = embedding(x)
    make_weights(embedding)
    vectors = embedding(x)
    results = []
    for make in (layers.LSTM, layers.GRU, layers.SimpleRNN):
        layer = make(3)
        layer(vectors)
        make_weights(layer)
        results.append(layer(vectors))
    return embedding.compute_mask(x), embedding.supports_masking, results


def masks_pass_through_layers(tf):
    layers = tf.keras.layers
    x = make_padded()
    model = tf.keras.Sequential(
        [
            layers.Embedding(9, 4, mask_zero=True),
            layers.Dropout(0.5),
            layers.LSTM(3, return_sequences=True),
            layers.LayerNormalization(),
            layers.Dense(4, activation="tanh"),
            layers.GRU(2, return_sequences=True),
            layers.Activation("sigmoid"),
            layers.GlobalAveragePooling1D(),
        ]
    )
    model(x)
    make_weights(model)
    return model(x)


def a_masking_layer_of_numbers(tf):
    layers = tf.keras.layers
    x = make_values(3, 4, 2)
    x[0, 2:] = x[1, 0] = -1.0
    masking = layers.Masking(mask_value=-1.0)
    layer = layers.GRU(3, return_sequences=True, return_state=True)
    layer(masking(x))
    make_weights(layer)
    outputs, state = layer(masking(x))
    return masking(x), masking.compute_mask(x), outputs, state


def masked_losses_and_metrics(tf):
    layers, keras = tf.keras.layers, tf.keras
    x = make_padded()
    model = keras.Sequential(
        [layers.Embedding(9, 4, mask_zero=True), layers.LSTM(3, return_sequences=True), layers.Dense(9)]
    )
    model(x)
    make_weights(model)
    y = np.roll(x, -1, 1)
    logits = model(x)
    weights = np.linspace(0.5, 1.5, x.size).reshape(x.shape).astype(np.float32)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    total = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    each = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    accuracy.update_state(y, logits)
    plain_accuracy = keras.metrics.SparseCategoricalAccuracy()
    plain_accuracy.update_state(y, logits * 1.0)
    crossentropy = keras.metrics.SparseCategoricalCrossentropy(from_logits=True)
    crossentropy.update_state(y, logits, sample_weight=weights)
    return (
        loss(y, logits), loss(y, logits, sample_weight=weights), total(y, logits), each(y, logits),
        loss(y, logits * 1.0), accuracy.result(), plain_accuracy.result(), crossentropy.result(),
    )  # fmt: skip


def a_masked_model_is_trained(tf):
    layers, keras = tf.keras.layers, tf.keras
    x = make_padded(12, 5)
    y = (x.sum(1) % 2).astype(np.float32)
    model = keras.Sequential(
        [layers.Embedding(9, 4, mask_zero=True), layers.LSTM(3), layers.Dense(1, activation="sigmoid")]
    )
    model(x)
    make_weights(model)
    model.compile(keras.optimizers.SGD(0.5), "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    return history.history, model.evaluate(x, y, verbose=0), model.predict(x[:2], verbose=0)


def a_tagger_is_trained_with_masks(tf):
    layers, keras = tf.keras.layers, tf.keras
    x = make_padded(12, 5)
    y = x % 3
    model = keras.Sequential(
        [
            layers.Embedding(9, 4, mask_zero=True),
            layers.GRU(3, return_sequences=True),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model(x)
    make_weights(model)
    model.compile(
        keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"]
    )
    history = model.fit(x, y, batch_size=6, epochs=2, shuffle=False, verbose=0)
    return history.history


def a_custom_loop_with_masks(tf):
    layers, keras = tf.keras.layers, tf.keras
    x = make_padded(8, 5)
    y = x % 3

    class Tagger(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layers.Embedding(9, 4, mask_zero=True)
            self.recurrent = layers.LSTM(3, return_sequences=True)
            self.head = layers.Dense(3)

        def call(self, inputs):
            return self.head(self.recurrent(self.embedding(inputs)))

    model = Tagger()
    model(x)
    make_weights(model)
    optimizer, metric = keras.optimizers.SGD(0.1), keras.metrics.Mean()
    loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_function(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        metric.update_state(loss)
        return loss

    losses = [float(step(x, y)) for _ in range(4)]
    return losses, metric.result()


def layers_of_ones_own_with_masks(tf):
    layers = tf.keras.layers

    class TemporalSplit(layers.Layer):
        """Split sequences in two, and their masks."""

        def call(self, inputs):
            return tf.split(inputs, 2, axis=1)

        def compute_mask(self, inputs, mask=None):
            if mask is None:
                return None
            return tf.split(mask, 2, axis=1)

    class TemporalSoftmax(layers.Layer):
        """A softmax over the steps that count."""

        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, inputs, mask=None):
            broadcast = tf.expand_dims(tf.cast(mask, "float32"), -1)
            exponentials = tf.exp(inputs) * broadcast
            total = tf.reduce_sum(exponentials * broadcast, axis=1, keepdims=True)
            return exponentials / total

    class Scaled(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, inputs):
            return 2.0 * inputs

    x = make_padded()
    embedding = layers.Embedding(9, 2, mask_zero=True)
    embedding(x)
    make_weights(embedding)
    first, second = TemporalSplit()(embedding(x))
    recurrent = layers.SimpleRNN(2)
    recurrent(first)
    make_weights(recurrent)
    return (
        first, second, recurrent(first), recurrent(second),
        TemporalSoftmax()(Scaled()(embedding(x))), layers.Dropout(0.1).supports_masking,
        layers.Flatten().supports_masking,
    )  # fmt: skip


def attention_over_masked_sequences(tf):
    layers = tf.keras.layers
    query, value = make_padded(3, 4, seed=4), make_padded(3, 5, seed=5)
    embedding = layers.Embedding(9, 4, mask_zero=True)
    embedding(query)
    make_weights(embedding)
    dot = layers.Attention()([embedding(query), embedding(value)])
    heads = layers.MultiHeadAttention(2, 3)
    heads(embedding(query), embedding(value))
    make_weights(heads)
    several = heads(embedding(query), embedding(value))
    pooled = layers.GlobalAveragePooling1D()
    return dot, several, pooled(dot), pooled(several), layers.Add()([embedding(query), several])


def an_encoder_and_a_decoder_with_masks(tf):
    layers = tf.keras.layers
    source, target = make_padded(4, 5, seed=6), make_padded(4, 4, seed=7)
    embedding = layers.Embedding(9, 3, mask_zero=True)
    encoder = layers.GRU(4, return_sequences=True, return_state=True)
    decoder = layers.GRU(4, return_sequences=True)
    outputs, state = encoder(embedding(source))
    decoder(embedding(target), initial_state=state)
    make_weights(embedding, encoder, decoder)
    outputs, state = encoder(embedding(source))
    decoded = decoder(embedding(target), initial_state=state)
    given = decoder(embedding(target), initial_state=state, mask=embedding.compute_mask(target))
    return outputs, state, decoded, given


def padded_sequences(tf):
    pad = tf.keras.utils.pad_sequences
    sequences = [[1], [2, 3, 4, 5], [6, 7]]
    return (
        pad(sequences), pad(sequences, padding="post"), pad(sequences, maxlen=2),
        pad(sequences, maxlen=3, truncating="post", value=-1), pad([[0.5], [1.5, 2.5]], dtype="float32"),
        str(pad(sequences).dtype),
    )  # fmt: skip


def both_directions(tf):
    layers = tf.keras.layers
    x, words = make_values(3, 4, 2), make_padded(3, 5)
    results = []
    for mode in ("concat", "sum", "ave", "mul", None):
        layer = layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode=mode)
        layer(x)
        make_weights(layer)
        results.append(layer(x))
    embedding = layers.Embedding(9, 2, mask_zero=True)
    last = layers.Bidirectional(
        layers.GRU(3), backward_layer=layers.GRU(3, go_backwards=True, activation="relu")
    )
    states = layers.Bidirectional(layers.LSTM(2, return_state=True))
    last(embedding(words))
    states(embedding(words))
    make_weights(embedding, last, states)
    return results, last(embedding(words)), states(embedding(words)), len(last.trainable_variables)


def a_layer_at_each_step(tf):
    layers = tf.keras.layers
    x = make_values(2, 3, 4, 5)
    dense = layers.TimeDistributed(layers.Dense(2))
    flat = layers.TimeDistributed(layers.Flatten())
    dense(x)
    make_weights(dense)
    repeated = layers.RepeatVector(3)(x[:, 0, 0])
    permuted = layers.Permute((3, 1, 2))(x)
    return dense(x), flat(x), repeated, permuted
