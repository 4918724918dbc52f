"""
A custom optimizer
==================

An optimizer turns gradients into updates. This tutorial builds one in three stages: a few lines in a loop, the same lines
with state, and a class that works wherever Adam works. The method is *Rprop* (Riedmiller and Braun 1993), which uses
only the signs of the gradients.
"""

# %%
# A narrow valley
# ---------------
#
# The function below is steep in one direction and flat in the other. Gradient descent has one learning rate for both:

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt


def height(p):
    return 0.5 * (400 * p[0] ** 2 + p[1] ** 2) + 3 * jt.cos(p[1])


def draw(paths):
    _, ax = plt.subplots()
    a, b = np.meshgrid(np.linspace(-1.2, 1.2, 200), np.linspace(-7, 7, 200))
    ax.contour(
        b,
        a,
        200 * a**2 + 0.5 * b**2 + 3 * np.cos(b),
        levels=np.geomspace(1, 300, 20),
        cmap="Greys",
        linewidths=0.6,
    )
    for name, path in paths.items():
        path = np.array(path)
        ax.plot(path[:, 1], path[:, 0], "o-", markersize=3, linewidth=1, label=name)
    ax.set_xlabel("flat direction")
    ax.set_ylabel("steep direction")
    ax.legend()


start = np.array([1.0, -6.0])
p = jt.Variable(start)
descent = [start]
for _ in range(40):
    with jt.GradientTape() as tape:
        value = height(p)
    p.assign_sub(0.0048 * tape.gradient(value, p))
    descent.append(p.numpy())

draw({"gradient descent": descent})

# %%
# A larger learning rate diverges in the steep direction, and this one crawls along the flat one.
#
# Signs instead of slopes
# -----------------------
#
# Rprop gives each number its own step size. If the sign of its gradient is the same as in the step before, the step size
# grows by a factor of 1.2. If the sign changed, the last step jumped over a valley, and the step size is halved. The size
# of the gradient does not matter:

p.assign(start)
size, before = np.full(2, 0.1), np.zeros(2)
rprop = [start]
for _ in range(40):
    with jt.GradientTape() as tape:
        value = height(p)
    slope = tape.gradient(value, p).numpy()
    size = np.where(
        slope * before > 0, 1.2 * size, np.where(slope * before < 0, 0.5 * size, size)
    )
    p.assign_sub(size * np.sign(slope))
    before = slope
    rprop.append(p.numpy())

draw({"gradient descent": descent, "Rprop": rprop})

# %%
# After 40 steps, Rprop is at the bottom. It moves equally well in the steep and in the flat direction.
#
# State in Variables
# ------------------
#
# The loop above computes in two places: the gradient in compiled code, and the update in NumPy. If the state is in Variables
# too, the whole step is one compiled program. ``trainable=False`` tells tapes to ignore them:

p.assign(start)
size = jt.Variable(np.full(2, 0.1), trainable=False)
before = jt.Variable(np.zeros(2), trainable=False)


@jt.function
def step():
    with jt.GradientTape() as tape:
        value = height(p)
    slope = tape.gradient(value, p)
    agreement = slope * before
    size.assign(
        jt.where(agreement > 0.0, 1.2 * size, jt.where(agreement < 0.0, 0.5 * size, size))
    )
    p.assign_sub(size * jt.sign(slope))
    before.assign(slope)


for _ in range(40):
    step()
print("the same point:", np.allclose(p.numpy(), rprop[-1]))

# %%
# A class
# -------
#
# A model has many Variables. A subclass of `jt.optimizers.Optimizer` needs two methods. ``build`` creates the state for each
# Variable, and ``update_step`` writes one update. The learning rate is the first step size:


class Rprop(jt.optimizers.Optimizer):
    def __init__(self, learning_rate=0.01, shrink=0.5, grow=1.2, **options):
        super().__init__(learning_rate, **options)
        self.shrink, self.grow = shrink, grow

    def build(self, variables):
        super().build(variables)
        self.before = self.add_optimizer_variables(variables, "before")
        self.factors = self.add_optimizer_variables(variables, "factor", initializer=1.0)

    def update_step(self, gradient, variable, learning_rate):
        i = self.position(variable)
        before, factor = self.before[i], self.factors[i]
        agreement = gradient * before
        smaller = jt.where(agreement < 0.0, self.shrink * factor, factor)
        factor.assign(jt.where(agreement > 0.0, self.grow * factor, smaller))
        variable.assign_sub(learning_rate * factor * jt.sign(gradient))
        before.assign(gradient)


p.assign(start)
optimizer = Rprop(learning_rate=0.1)
for _ in range(40):
    with jt.GradientTape() as tape:
        value = height(p)
    optimizer.apply_gradients([(tape.gradient(value, p), p)])
print("the same point:", np.allclose(p.numpy(), rprop[-1]))

# %%
# The class inherits clipping, weight decay, schedules, saving and loading.
#
# On a network
# ------------
#
# The comparison trains one network three times from the same start. The data are two spirals, and each step uses
# all rows. Rprop needs all rows: with mini-batches, the signs change at random and the step sizes shrink.

rng = np.random.default_rng(0)
angle = np.sqrt(rng.uniform(0.1, 1, 400)) * 3 * np.pi
side = np.repeat([1.0, -1.0], 200)
points = (
    side[:, None] * angle[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) / 10
)
points += rng.normal(scale=0.02, size=points.shape)
labels = (side > 0).astype(float)


def losses_of(optimizer, steps=400):
    jt.random.set_seed(3)
    layers = [jt.nn.Dense(24, activation=jt.nn.tanh, input_dim=2, dtype="float64")]
    layers += [jt.nn.Dense(24, activation=jt.nn.tanh, input_dim=24, dtype="float64")]
    model = jt.nn.Sequential([*layers, jt.nn.Dense(1, input_dim=24, dtype="float64")])
    weights = model.trainable_variables

    @jt.function
    def step():
        with jt.GradientTape() as tape:
            scores = model(points)[:, 0]
            loss = jt.reduce_mean(
                jt.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores)
            )
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return [float(step()) for _ in range(steps)]


fig, ax = plt.subplots()
for name, optimizer in {
    "gradient descent, 0.5": jt.optimizers.SGD(0.5),
    "Adam, 0.02": jt.optimizers.Adam(0.02),
    "Rprop, 0.01": Rprop(0.01),
}.items():
    ax.semilogy(losses_of(optimizer), label=name)
ax.set_xlabel("step")
ax.set_ylabel("loss")
ax.legend()

# %%
# Plain gradient descent hardly moves. Adam is the fastest here. Rprop follows without a tuned learning rate.
#
# What to try next
# ----------------
#
# - The original method also limits the step sizes to between 1e-6 and 50. Where does that line belong, and when does it
#   matter?
# - Some variants undo the last step if the sign has changed. Which additional state do they need?
# - Train with mini-batches of 50 rows. What do the three curves do now?
#
# :doc:`/guides/optimizers` lists jittape's optimizers and the options that the class inherits.
