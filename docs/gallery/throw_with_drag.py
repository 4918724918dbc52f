"""
Aim a throw
===========

How fast and at which angle must a ball start to hit a target 30 m away, with drag and wind? The
gradient goes through the simulated flight.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

target, seconds, steps = np.array([30.0, 5.0]), 2.0, 100


@jt.function
def fly(start_velocity):
    dt = seconds / steps

    def move(carry, _):
        position, velocity = carry
        wind = velocity - np.array([-4.0, 0.0])
        drag = -0.02 * jt.norm(wind) * wind
        velocity = velocity + dt * (drag - np.array([0.0, 9.81]))
        return position + dt * velocity, velocity

    return jt.scan(
        move, np.zeros(steps), initializer=(jt.zeros([2], jt.float64), start_velocity)
    )[0]


velocity = jt.Variable(np.array([10.0, 10.0]))
fig, ax = plt.subplots()
for i in range(60):
    with jt.GradientTape() as tape:
        path = fly(velocity)
        miss = jt.reduce_sum(jt.square(path[-1] - target))
    if i in (0, 1, 3, 6, 59):
        ax.plot(*path.numpy().T, label=f"attempt {i + 1}")
    velocity.assign_sub(0.08 * tape.gradient(miss, velocity))
ax.plot(*target, "k*", markersize=12)
ax.set_xlabel("m")
ax.set_ylabel("m")
ax.legend()
print(
    f"start with {np.hypot(*velocity.numpy()):.1f} m/s, {np.degrees(np.arctan2(*velocity.numpy()[::-1])):.0f}°"
)
