"""
Fit the parameters of a differential equation
=============================================

The Lotka-Volterra equations describe predators and prey. The tape goes through 100 Runge-Kutta
steps and returns the gradient with respect to the four rates.
"""

import matplotlib.pyplot as plt
import numpy as np

import jittape as jt

step, count = 0.1, 100


def rates_of_change(state, rates):
    prey, predators = state[0], state[1]
    return jt.stack(
        [
            rates[0] * prey - rates[1] * prey * predators,
            rates[2] * prey * predators - rates[3] * predators,
        ]
    )


@jt.function
def simulate(rates):
    def runge_kutta(state, _):
        k1 = rates_of_change(state, rates)
        k2 = rates_of_change(state + step / 2 * k1, rates)
        k3 = rates_of_change(state + step / 2 * k2, rates)
        k4 = rates_of_change(state + step * k3, rates)
        return state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    start = jt.constant([10.0, 5.0], dtype=jt.float64)
    return jt.scan(runge_kutta, np.zeros(count), initializer=start)


truth = np.array([1.1, 0.4, 0.1, 0.4])
rng = np.random.default_rng(0)
data = simulate(truth).numpy() * np.exp(rng.normal(scale=0.08, size=(count, 2)))

logs = jt.Variable(np.log([0.8, 0.3, 0.15, 0.5]))
optimizer = jt.optimizers.Adam(learning_rate=0.02)
for _ in range(400):
    with jt.GradientTape() as tape:
        error = jt.math.log(simulate(jt.exp(logs))) - np.log(data)
        loss = jt.reduce_mean(jt.square(error))
    optimizer.apply_gradients([(tape.gradient(loss, logs), logs)])

time = step * np.arange(1, count + 1)
fig, ax = plt.subplots()
for i, name in enumerate(["prey", "predators"]):
    ax.plot(time, data[:, i], ".", color=f"C{i}", alpha=0.5)
    ax.plot(time, simulate(jt.exp(logs)).numpy()[:, i], color=f"C{i}", label=name)
ax.set_xlabel("time")
ax.legend()
print("rates", np.exp(logs.numpy()).round(2), "truth", truth)
