"""
Sparse problems
===============

In a network of pipes, wires or friends, each node has only a few neighbors, so the matrix of the network is almost all zeros.
jittape has no sparse tensors, and few programs need them. Three arrays hold the matrix, ``gather`` and segment sums multiply
with it, and SciPy solves the linear systems.
"""

# %%
# A network of resistors
# ----------------------
#
# 400 nodes lie in a plane, and each is connected to its neighbors. An edge is a pair of node numbers and a conductance:

# sphinx_gallery_thumbnail_number = -1

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse import coo_array
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay

import jittape as jt

rng = np.random.default_rng(0)
side = 20
place = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
place = place + rng.uniform(-0.3, 0.3, place.shape)
triangles = Delaunay(place).simplices
edges = np.unique(
    np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    ),
    axis=0,
)
a, b = edges[np.linalg.norm(place[edges[:, 0]] - place[edges[:, 1]], axis=1) < 2.0].T
nodes = len(place)
print(
    f"{nodes} nodes, {len(a)} edges: {2 * len(a) / nodes**2:.1%} of the matrix is not zero"
)

# %%
# A product without a matrix
# --------------------------
#
# The current through an edge is its conductance times the difference of the voltages at its ends. The sum of currents that
# leave a node is one row of a matrix product. ``gather`` reads both ends, and a segment sum collects the currents:


def leaving(conductance, voltage):
    current = conductance * (jt.gather(voltage, a) - jt.gather(voltage, b))
    return jt.math.unsorted_segment_sum(current, a, nodes) - jt.math.unsorted_segment_sum(
        current, b, nodes
    )


def matrix(conductance):
    """Return the same product as a sparse matrix of SciPy."""
    rows, columns = np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a])
    entries = np.concatenate([conductance, conductance, -conductance, -conductance])
    return coo_array((entries, (rows, columns)), shape=(nodes, nodes)).tocsc()


middle = (place[a] + place[b]) / 2
true = np.where(np.linalg.norm(middle - [6, 13], axis=1) < 4, 0.2, 1.0)
true[np.linalg.norm(middle - [14, 6], axis=1) < 3] = 4.0
voltage = rng.normal(size=nodes)
print("the same product:", np.allclose(leaving(true, voltage), matrix(true) @ voltage))

# %%
# Both parts are compiled into one pass over the edges, and the gradient is a product of the same kind. Memory and time grow
# with the number of edges, and no array has 160,000 elements:

loss_of = jt.function(lambda c: jt.reduce_sum(jt.square(leaving(c, voltage))))
gradient = jt.grad(loss_of)(true)
print(gradient.shape)

# %%
# A sparse solve with a gradient
# ------------------------------
#
# Currents enter at some nodes, and we want the voltages: the solution of a linear system. SciPy factors the matrix.
# A tape cannot differentiate SciPy's code, but the derivative of a solution is known. Let A v = s, let g be the gradient with
# respect to v, and solve Aᵀ λ = g. The gradient with respect to s is λ. The gradient with respect to the entry of A in row i
# and column j is -λᵢ vⱼ.
#
# ``jt.custom_gradient`` combines the solution with its gradient. Node 0 is grounded, which makes the matrix invertible:

inner = slice(1, None)
source = np.zeros((nodes, 6))
source[rng.choice(np.arange(1, nodes), 6, replace=False), range(6)] = (
    1.0  # six experiments, one per column
)


@jt.custom_gradient
def voltages(conductance):
    """Return the voltages of all nodes, one column per experiment."""
    factored = splu(matrix(conductance.numpy())[inner, inner])
    v = np.zeros_like(source)
    v[inner] = factored.solve(source[inner])

    def gradient_of(g):
        adjoint = np.zeros_like(source)
        adjoint[inner] = factored.solve(g.numpy()[inner], trans="T")
        return -((adjoint[a] - adjoint[b]) * (v[a] - v[b])).sum(axis=1)

    return jt.constant(v), gradient_of


true_voltages = voltages(jt.constant(true))
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2))
for i, ax in enumerate(axes):
    picture = ax.scatter(*place.T, c=true_voltages[:, i].numpy(), s=14)
    fig.colorbar(picture, ax=ax)
    ax.set_title(f"voltages of experiment {i + 1}")
    ax.set_axis_off()

# %%
# A check against differences, in one direction:

direction = rng.normal(size=len(a))
c = jt.constant(np.ones(len(a)))
with jt.GradientTape() as tape:
    tape.watch(c)
    total = jt.reduce_sum(jt.square(voltages(c)))
slope = np.dot(tape.gradient(total, c), direction)
ahead, behind = (
    np.sum(voltages(jt.constant(1 + step * direction)).numpy() ** 2)
    for step in (1e-5, -1e-5)
)
print(f"from the tape {slope:.4f}, from differences {(ahead - behind) / 2e-5:.4f}")

# %%
# The inverse problem
# -------------------
#
# Now the conductances are unknown. The voltages of all nodes are measured with a little noise, and the goal is a map of the
# material. Each node has one unknown number, and an edge gets the mean of its two ends. The sum of absolute
# differences along the edges is small for maps with few borders:

measured = true_voltages.numpy() + rng.normal(scale=0.01, size=source.shape)
logs = jt.Variable(np.zeros(nodes))
optimizer = jt.optimizers.Adam(jt.optimizers.schedules.CosineDecay(0.1, 600))


def conductance_of(logs):
    return jt.exp((jt.gather(logs, a) + jt.gather(logs, b)) / 2)


losses = []
for _ in range(600):
    with jt.GradientTape() as tape:
        misfit = 0.5 * jt.reduce_sum(
            jt.square((voltages(conductance_of(logs)) - measured) / 0.01)
        )
        steps = jt.gather(logs, a) - jt.gather(logs, b)
        borders = jt.reduce_sum(jt.sqrt(jt.square(steps) + 1e-4))
        loss = misfit + 2.0 * borders
    optimizer.apply_gradients([(tape.gradient(loss, logs), logs)])
    losses.append(float(loss))

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2))
axes[0].semilogy(losses)
axes[0].set_xlabel("step")
axes[0].set_title("cost")
lines = np.stack([place[a], place[b]], axis=1)
for ax, values, title in [
    (axes[1], true, "true"),
    (axes[2], conductance_of(logs).numpy(), "found"),
]:
    drawn = ax.add_collection(
        LineCollection(lines, array=np.log(values), cmap="coolwarm", linewidths=2)
    )
    drawn.set_clim(-1.7, 1.7)
    ax.autoscale()
    ax.set_title(f"log conductance, {title}")
    ax.set_axis_off()
fig.colorbar(drawn, ax=axes[2])

# %%
# Each step factors one sparse matrix and solves twelve systems. The tape connects the solver with the compiled
# code before and after it.
#
# What to try next
# ----------------
#
# - Use one experiment instead of six. Which regions of the map disappear?
# - Replace the square root by ``jt.square(steps)``. What happens to the borders?
# - Solve the system with conjugate gradients, which need only ``leaving``. Which function is then called in each iteration of
#   `jt.while_loop`, and what is its gradient?
# - How much memory would the dense matrix need for 100,000 nodes?
#
# :doc:`/guides/segments` explains segment sums. :doc:`/guides/sparse` shows sparse Jacobians, and products of SciPy's sparse
# matrices with tensors.
