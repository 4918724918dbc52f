"""
Five-minute tour
================

This page is for readers who know NumPy. It takes a derivative, fits a curve to data, and draws the fit. The documentation
build runs the code, prints its output and draws the pictures. The notebook at the end of the page has the same code. The
pictures need Matplotlib (``pip install matplotlib``). In a script, add ``plt.show()`` after each picture.
"""

# %%
# A derivative
# ------------
#
# A *Variable* is an array that you can change. A *tape* records what you compute from it. ``tape.gradient`` then returns
# the derivative of the result:

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

x = jt.Variable(2.0)

with jt.GradientTape() as tape:
    y = x * x * x

print(tape.gradient(y, x))

# %%
# The derivative of x³ is 3x², which is 12 for x = 2. The result is a *tensor*. Call ``.numpy()`` to get an array, or
# ``float()`` to get a number.
#
# Arrays work in the same way: the gradient of a number with respect to an array has the shape of the array. NumPy's functions
# accept Variables:

angles = jt.Variable(np.linspace(-6, 6, 200))

with jt.GradientTape() as tape:
    total = np.sum(np.sin(angles) / (1 + np.abs(angles)))

slope = tape.gradient(total, angles)

fig, ax = plt.subplots()
points = angles.numpy()
ax.plot(points, np.sin(points) / (1 + np.abs(points)), label="f(x)")
ax.plot(points, slope.numpy(), label="derivative of f, from the tape")
ax.set_xlabel("x")
ax.legend()

# %%
# Data
# ----
#
# Suppose that these are measurements of an oscillation that dies away. We want to know how fast:

rng = np.random.default_rng(0)
time = np.linspace(0, 10, 150)
noise = rng.normal(scale=0.1, size=150)
signal = 2.0 * np.exp(-0.3 * time) * np.cos(2.5 * time) + noise

# %%
# A model
# -------
#
# The model is an ordinary function. Its three parameters are Variables, each with a first guess:

height = jt.Variable(1.0)
decay = jt.Variable(0.1)
frequency = jt.Variable(2.3)


def model(t):
    return height * jt.exp(-decay * t) * jt.cos(frequency * t)


first_guess = model(time).numpy()

# %%
# The fit
# -------
#
# Each step computes the mean squared error and its gradients, and moves each parameter a little against its gradient.
# ``assign_sub`` subtracts in place:

parameters = [height, decay, frequency]
losses = []
for _ in range(1000):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(model(time) - signal))
    gradients = tape.gradient(loss, parameters)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.assign_sub(0.05 * gradient)
    losses.append(float(loss))

kernels = jt.explain()
print("height, decay, frequency:", [round(float(p), 2) for p in parameters])

# %%
# The data were made with height 2, decay 0.3 and frequency 2.5.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
left.plot(time, signal, ".", color="gray", label="data")
left.plot(time, first_guess, "--", label="first guess")
left.plot(time, model(time).numpy(), label="fit")
left.set_xlabel("time")
left.legend()
right.semilogy(losses)
right.set_xlabel("step")
right.set_ylabel("mean squared error")

# %%
# What happened
# -------------
#
# The loop is plain Python, but the arithmetic did not run in Python. jittape recorded each step. The first step ran with
# NumPy. The second step was compiled: the model, the error, the three gradients and the three updates together. The other
# 998 steps reused the compiled program. ``jt.explain()``, called right after the loop, returned a description of the last
# step. Its first lines say that the model, the error and the three gradients became one kernel with one loop:

print("\n".join(str(kernels).splitlines()[:6]))

# %%
# An optimizer
# ------------
#
# The update above is the simplest one. ``jt.optimizers`` has better ones, for instance Adam. The loop stays the same:

optimizer = jt.optimizers.Adam(learning_rate=0.05)
for parameter, guess in zip(parameters, [1.0, 0.1, 2.3], strict=True):
    parameter.assign(guess)

for _ in range(200):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(model(time) - signal))
    gradients = tape.gradient(loss, parameters)
    optimizer.apply_gradients(zip(gradients, parameters, strict=True))

print(f"after 200 steps: {[round(float(p), 2) for p in parameters]}")

# %%
# Where to go next
# ----------------
#
# - :doc:`/start/tutorial` explains tapes, training loops and their errors in full.
# - :doc:`/start/cheat-sheet` has one line of code for each common task.
# - :doc:`/guides/index` explains one topic per page.
