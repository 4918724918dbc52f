import numpy as np
from sklearn.datasets import load_digits

import jittape as tf

digits = load_digits()
images = (digits.images / 16.0).astype("float32")
x_train, y_train = images[:1437], digits.target[:1437]
x_test, y_test = images[1437:], digits.target[1437:]

batches = (
    tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1437, seed=0).batch(32)
)

tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((8, 8)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(10),
    ]
)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(1e-3)
mean_loss = tf.keras.metrics.Mean()
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_of(y, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    mean_loss.update_state(loss)
    accuracy.update_state(y, logits)


for _ in range(30):
    mean_loss.reset_state()
    accuracy.reset_state()
    for x, y in batches:
        train_step(x, y)

correct = np.argmax(model(x_test).numpy(), axis=1) == y_test
print(
    f"loss {float(mean_loss.result()):.2f}, accuracy on new digits {np.mean(correct):.2f}"
)
