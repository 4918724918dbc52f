"""`elementwise` by hand: one pass over the data each."""

# mypy: ignore-errors

import math

from workloads.handmade import by_hand, exp, log1p, tanh


@by_hand
def sine(x):
    return math.sin(x) * x, math.sin(x) + math.cos(x) * x


@by_hand
def rosenbrock_ends(x, out):
    n = x.size
    d, e = x[1] - x[0] * x[0], 1 - x[0]
    out[0] = -400 * x[0] * d - 2 * e
    out[n - 1] = 200 * (x[n - 1] - x[n - 2] * x[n - 2])
    return 100 * d * d + e * e


@by_hand
def rosenbrock_within(x, out):
    total = 0.0
    for i in range(1, x.size - 1):
        before, here, after = x[i - 1], x[i], x[i + 1]
        d, e = after - here * here, 1 - here
        total += 100 * d * d + e * e
        out[i] = 200 * (here - before * before) - 400 * here * d - 2 * e
    return total


@by_hand
def rosenbrock(x, out):
    return rosenbrock_ends(x, out) + rosenbrock_within(x, out)


@by_hand
def rosenbrock_part(number, threads, phase, arguments):
    x, out, totals = arguments
    n = x.size
    begin, end = (n - 2) * number // threads, 2 + (n - 2) * (number + 1) // threads
    totals[number, 0] = rosenbrock_within(x[begin:end], out[begin:end])
    if number == 0:
        totals[number, 0] += rosenbrock_ends(x, out)


@by_hand
def rosenbrock_hessian(x, out):
    n = x.size
    out[:] = 0.0
    for i in range(n - 1):
        out[i, i] = 1200 * x[i] * x[i] - 400 * x[i + 1] + 202.0
        out[i, i + 1] = out[i + 1, i] = -400 * x[i]
    out[0, 0] -= 200.0
    out[n - 1, n - 1] = 200.0


@by_hand
def chain(x, a, b, out):
    kind = x.dtype.type
    one, two, total = kind(1), kind(2), kind(0)
    a, b = kind(a), kind(b)
    for i in range(x.size):
        u = x[i]
        q = u * u
        t, e = tanh(a * u + b), exp(-q)
        total += t * e + log1p(q)
        out[i] = a * (one - t * t) * e - two * u * e * t + two * u / (one + q)
    return total


@by_hand
def chain_part(number, threads, phase, arguments):
    x, a, b, out, totals = arguments
    begin, end = x.size * number // threads, x.size * (number + 1) // threads
    totals[number, 0] = chain(x[begin:end], a, b, out[begin:end])
