"""
From linear regression to a training loop
=========================================

Linear regression has a formula. This tutorial solves it with gradients instead, and then changes one thing at a time:
mini-batches, a better optimizer, a network, a validation set, a compiled step. The last version is the loop that trains most
models.
"""

# %%
# The data
# --------
#
# 442 patients, ten measurements each, and a number that says how the disease progressed within a year. All columns are
# scaled to mean 0 and standard deviation 1, because one learning rate must suit them all.

# sphinx_gallery_thumbnail_number = -1

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import jittape as jt

x, y = load_diabetes(return_X_y=True)
x = (x - x.mean(axis=0)) / x.std(axis=0)
y = (y - y.mean()) / y.std()

order = np.random.default_rng(0).permutation(len(x))
train, check = order[:342], order[342:]
x_train, y_train, x_check, y_check = x[train], y[train], x[check], y[check]
print(x_train.shape, y_train.shape)

# %%
# Linear regression
# -----------------
#
# The model is ``x @ w + b``. The loss is the mean squared error. Each step moves ``w`` and ``b`` against their gradients:

w = jt.Variable(np.zeros(10))
b = jt.Variable(0.0, dtype="float64")
losses = []
for _ in range(300):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(x_train @ w + b - y_train))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * dw)
    b.assign_sub(0.1 * db)
    losses.append(float(loss))

# %%
# The formula gives the smallest possible loss. The loop comes close to it:

columns = np.column_stack([x_train, np.ones(len(x_train))])
exact = np.linalg.lstsq(columns, y_train)[0]
smallest = np.mean((columns @ exact - y_train) ** 2)
print(f"loss {losses[-1]:.5f}, smallest possible {smallest:.5f}")

fig, ax = plt.subplots()
ax.loglog(np.arange(1, 301), np.array(losses) - smallest)
ax.set_xlabel("step")
ax.set_ylabel("loss above the smallest")

# %%
# The curve has two parts: it falls fast, then slowly. Some columns are nearly multiples of each other, and the loss hardly
# changes along their difference. A single learning rate is too small for such directions.
#
# Mini-batches
# ------------
#
# A gradient from 32 rows needs a tenth of the arithmetic of one from 342 rows, and points in roughly the same direction. One
# pass through all rows is an *epoch*. Each epoch visits the rows in a new order:

rng = np.random.default_rng(1)


def batches(size=32):
    shuffled = rng.permutation(len(x_train))
    for i in range(0, len(x_train) - size + 1, size):
        rows = shuffled[i : i + size]
        yield x_train[rows], y_train[rows]


w.assign(np.zeros(10))
b.assign(0.0)
noisy = []
for _ in range(30):
    for rows, targets in batches():
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(rows @ w + b - targets))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(0.05 * dw)
        b.assign_sub(0.05 * db)
        noisy.append(float(loss))

fig, ax = plt.subplots()
ax.plot(noisy, linewidth=0.8, label="32 rows per step")
ax.plot(losses, label="all rows per step")
ax.set_xlabel("step")
ax.set_ylabel("loss")
ax.legend()

# %%
# All batches have the same size, so jittape records one program and reuses it.
#
# An optimizer
# ------------
#
# An optimizer object replaces the two lines of updates. It keeps its own state for each Variable. Adam, for instance, gives
# each number its own step size, which helps with the slow directions above:

w.assign(np.zeros(10))
b.assign(0.0)
optimizer = jt.optimizers.Adam(learning_rate=0.01)
for _ in range(30):
    for rows, targets in batches():
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(rows @ w + b - targets))
        gradients = tape.gradient(loss, [w, b])
        optimizer.apply_gradients(zip(gradients, [w, b], strict=True))


def error_of(predict, inputs, targets):
    return float(jt.reduce_mean(jt.square(predict(inputs) - targets)))


linear_error = error_of(lambda inputs: inputs @ w + b, x_check, y_check)
print(f"linear model: error on the other 100 patients {linear_error:.3f}")

# %%
# A network
# ---------
#
# The loop is the same for every model. A `Sequential` is a function with a list of Variables. Here a hidden layer of
# 32 numbers lies between the measurements and the output:

jt.random.set_seed(0)
model = jt.nn.Sequential(
    [
        jt.nn.Dense(32, activation=jt.nn.relu, input_dim=10, dtype="float64"),
        jt.nn.Dense(1, input_dim=32, dtype="float64"),
    ]
)
print([v.shape for v in model.trainable_variables])

# %%
# The step is now a function. ``@jt.function`` traces it once; each later call is one call of compiled code:

optimizer = jt.optimizers.Adam(learning_rate=0.003)


@jt.function
def train_step(rows, targets):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(model(rows)[:, 0] - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


# %%
# Validation
# ----------
#
# A network of this size can learn its training data by heart. The error on the *other* patients shows when that begins. The
# loop keeps the weights of the best epoch and puts them back at the end:

history = []
best = np.inf
for _ in range(60):
    epoch_loss = np.mean([float(train_step(*batch)) for batch in batches()])
    check_error = error_of(lambda inputs: model(inputs)[:, 0], x_check, y_check)
    history.append((epoch_loss, check_error))
    if check_error < best:
        best, kept = check_error, [v.numpy() for v in model.trainable_variables]

for variable, value in zip(model.trainable_variables, kept, strict=True):
    variable.assign(value)

fig, ax = plt.subplots()
ax.plot(history, label=["training", "validation"])
ax.axhline(linear_error, color="gray", linestyle="--", label="linear model, validation")
ax.set_xlabel("epoch")
ax.set_ylabel("mean squared error")
ax.legend()
print(f"best validation error {best:.3f} in epoch {np.argmin([h[1] for h in history]) + 1}")

# %%
# The training error falls until the end, but the validation error starts to rise. For 342 patients and ten
# measurements, the network is hardly better than the linear model. This is typical of small data sets.
#
# What to try next
# ----------------
#
# - Give the network 4 hidden numbers instead of 32. In which epoch does the validation error start to rise?
# - Add ``0.01 * jt.reduce_sum(jt.square(v))`` for each weight matrix to the loss. Which curve changes more?
# - Remove the scaling of ``x``. Which learning rate still works, and how many steps does the loop need?
# - The best epoch was chosen on the validation patients. Is ``best`` a fair estimate for new patients?
#
# :doc:`/how-to/mini-batches`, :doc:`/how-to/early-stopping` and :doc:`/how-to/checkpoints` have the shorter forms of these
# loops.
