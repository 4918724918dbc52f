/* Evaluations of GradBench with their derivatives written by hand, for gcc -O3 -march=native -ffast-math.

   One thread. Loops over points are innermost, so that they fill the vector registers; glibc's vector library computes
   the exponentials, sines and cosines. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 32

double lse(long n, const double *restrict x, double *restrict gradient) {
    double top = -INFINITY, total = 0.0;
    for (long i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    for (long i = 0; i < n; i++) {
        gradient[i] = exp(x[i] - top);
        total += gradient[i];
    }
    for (long i = 0; i < n; i++) gradient[i] *= 1.0 / total;
    return top + log(total);
}

/* Horner's rule for the polynomial; its powers again for the gradient. */
double llsq(long n, long m, const double *restrict x, const double *restrict points, double *restrict gradient) {
    double value = 0.0;
    memset(gradient, 0, m * sizeof(double));
    for (long first = 0; first < n; first += BLOCK) {
        double t[BLOCK] = {0}, residual[BLOCK] = {0}, power[BLOCK];
        long count = n - first < BLOCK ? n - first : BLOCK;
        for (long i = 0; i < count; i++) t[i] = points[first + i];
        double sum[BLOCK] = {0};
        for (long j = m - 1; j >= 0; j--)
            for (long i = 0; i < BLOCK; i++) sum[i] = sum[i] * t[i] + x[j];
        for (long i = 0; i < count; i++) {
            residual[i] = (t[i] > 0) - (t[i] < 0) - sum[i];
            value += 0.5 * residual[i] * residual[i];
        }
        for (long i = 0; i < BLOCK; i++) power[i] = -residual[i];
        for (long j = 0; j < m; j++) {
            double part = 0.0;
            for (long i = 0; i < BLOCK; i++) {
                part += power[i];
                power[i] *= t[i];
            }
            gradient[j] += part;
        }
    }
    return value;
}

/* Newton's direction: each center minus the mean of its points. */
void kmeans(long k, long n, long d, const double *restrict centers, const double *restrict points,
            double *restrict direction) {
    long *counts = calloc(k, sizeof(long));
    double *norms = malloc(k * sizeof(double)), *columns = malloc(k * d * sizeof(double));
    double *distances = malloc(k * sizeof(double));
    memset(direction, 0, k * d * sizeof(double));
    for (long c = 0; c < k; c++) {
        norms[c] = 0.0;
        for (long j = 0; j < d; j++) {
            norms[c] += centers[c * d + j] * centers[c * d + j];
            columns[j * k + c] = -2.0 * centers[c * d + j];
        }
    }
    for (long i = 0; i < n; i++) {
        const double *point = points + i * d;
        memcpy(distances, norms, k * sizeof(double));
        for (long j = 0; j < d; j++)
            for (long c = 0; c < k; c++) distances[c] += columns[j * k + c] * point[j];
        double least = INFINITY;
        for (long c = 0; c < k; c++) least = distances[c] < least ? distances[c] : least;
        long best = 0;
        while (distances[best] != least) best++;
        counts[best]++;
        for (long j = 0; j < d; j++) direction[best * d + j] -= point[j];
    }
    for (long c = 0; c < k; c++)
        for (long j = 0; j < d; j++)
            direction[c * d + j] = (counts[c] * centers[c * d + j] + direction[c * d + j]) / counts[c];
    free(counts); free(norms); free(columns); free(distances);
}

/* Gradients by `alpha`, `means`, `q` and `low` of the log-posterior without its constant. `below` has the position in a
   row of `low` of each element of a factor. */
double gmm(long d, long k, long n, double gamma, double m, const double *restrict alpha, const double *restrict means,
           const double *restrict q, const double *restrict low, const double *restrict x, const long *restrict below,
           double *restrict by_alpha, double *restrict by_means, double *restrict by_q, double *restrict by_low) {
    long packed = d * (d - 1) / 2, size = d * d;
    double *factors = calloc(k * size, sizeof(double)), *by_factors = calloc(k * size, sizeof(double));
    double *centered = malloc(k * d * BLOCK * sizeof(double)), *white = malloc(k * d * BLOCK * sizeof(double));
    double *logs = malloc(k * BLOCK * sizeof(double)), *constant = malloc(k * sizeof(double));
    double *by_white = malloc(d * BLOCK * sizeof(double));
    double value = 0.0, norms = 0.0, sum_q = 0.0, top = -INFINITY, total = 0.0;
    memset(by_alpha, 0, k * sizeof(double));
    memset(by_means, 0, k * d * sizeof(double));
    for (long c = 0; c < k; c++) {
        constant[c] = alpha[c];
        for (long a = 0; a < d; a++) {
            double diagonal = exp(q[c * d + a]);
            constant[c] += q[c * d + a];
            sum_q += q[c * d + a];
            norms += diagonal * diagonal;
            factors[c * size + a * d + a] = diagonal;
            for (long b = 0; b < a; b++) {
                double entry = low[c * packed + below[a * d + b]];
                norms += entry * entry;
                factors[c * size + a * d + b] = entry;
            }
        }
        top = alpha[c] > top ? alpha[c] : top;
    }
    for (long first = 0; first < n; first += BLOCK) {
        long count = n - first < BLOCK ? n - first : BLOCK;
        double highest[BLOCK], sums[BLOCK];
        for (long i = 0; i < BLOCK; i++) highest[i] = -INFINITY;
        for (long c = 0; c < k; c++) {
            double *own = centered + c * d * BLOCK, *result = white + c * d * BLOCK, squares[BLOCK] = {0};
            for (long a = 0; a < d; a++) {
                for (long i = 0; i < BLOCK; i++) {
                    long row = first + (i < count ? i : 0);
                    own[a * BLOCK + i] = x[row * d + a] - means[c * d + a];
                }
                double sum[BLOCK] = {0};
                for (long b = 0; b <= a; b++) {
                    double entry = factors[c * size + a * d + b];
                    for (long i = 0; i < BLOCK; i++) sum[i] += entry * own[b * BLOCK + i];
                }
                for (long i = 0; i < BLOCK; i++) {
                    result[a * BLOCK + i] = sum[i];
                    squares[i] += sum[i] * sum[i];
                }
            }
            for (long i = 0; i < BLOCK; i++) {
                double one = constant[c] - 0.5 * squares[i];
                logs[c * BLOCK + i] = one;
                highest[i] = one > highest[i] ? one : highest[i];
            }
        }
        for (long i = 0; i < BLOCK; i++) sums[i] = 0.0;
        for (long c = 0; c < k; c++)
            for (long i = 0; i < BLOCK; i++) {
                logs[c * BLOCK + i] = exp(logs[c * BLOCK + i] - highest[i]);
                sums[i] += logs[c * BLOCK + i];
            }
        for (long i = 0; i < count; i++) value += highest[i] + log(sums[i]);
        for (long i = 0; i < BLOCK; i++) sums[i] = i < count ? 1.0 / sums[i] : 0.0;
        for (long c = 0; c < k; c++) {
            double *own = centered + c * d * BLOCK, *result = white + c * d * BLOCK, weights[BLOCK], share = 0.0;
            for (long i = 0; i < BLOCK; i++) {
                weights[i] = logs[c * BLOCK + i] * sums[i];
                share += weights[i];
            }
            by_alpha[c] += share;
            for (long a = 0; a < d; a++)
                for (long i = 0; i < BLOCK; i++) by_white[a * BLOCK + i] = weights[i] * result[a * BLOCK + i];
            for (long a = 0; a < d; a++)
                for (long b = 0; b <= a; b++) {
                    double part = 0.0;
                    for (long i = 0; i < BLOCK; i++) part += by_white[a * BLOCK + i] * own[b * BLOCK + i];
                    by_factors[c * size + a * d + b] -= part;
                }
            for (long a = 0; a < d; a++) {
                double part = 0.0;
                for (long i = 0; i < BLOCK; i++) part += by_white[a * BLOCK + i];
                for (long b = 0; b <= a; b++) by_means[c * d + b] += part * factors[c * size + a * d + b];
            }
        }
    }
    for (long c = 0; c < k; c++) total += exp(alpha[c] - top);
    for (long c = 0; c < k; c++) {
        for (long a = 0; a < d; a++) {
            double diagonal = factors[c * size + a * d + a];
            by_q[c * d + a] = by_alpha[c] + by_factors[c * size + a * d + a] * diagonal
                              - gamma * gamma * diagonal * diagonal + m;
            for (long b = 0; b < a; b++) {
                long place = c * packed + below[a * d + b];
                by_low[place] = by_factors[c * size + a * d + b] - gamma * gamma * low[place];
            }
        }
        by_alpha[c] -= n * exp(alpha[c] - top) / total;
    }
    free(factors); free(by_factors); free(centered); free(white); free(logs); free(constant); free(by_white);
    return value - n * (top + log(total)) - 0.5 * gamma * gamma * norms + m * sum_q;
}

/* For each observation the derivatives of two errors by 11 numbers of the camera, 3 of the point and the weight. */
void ba(long n, const double *restrict cameras, const double *restrict points, const double *restrict weights,
        const double *restrict features, const long *restrict pairs, double *restrict blocks,
        double *restrict by_weights) {
#pragma omp simd
    for (long i = 0; i < n; i++) {
        const double *camera = cameras + 11 * pairs[2 * i], *point = points + 3 * pairs[2 * i + 1];
        double weight = weights[i];
        double angle = sqrt(camera[0] * camera[0] + camera[1] * camera[1] + camera[2] * camera[2]);
        double inverse = 1.0 / angle;
        double a = camera[0] * inverse, b = camera[1] * inverse, c = camera[2] * inverse;
        double x = point[0] - camera[3], y = point[1] - camera[4], z = point[2] - camera[5];
        double cosine = cos(angle), sine = sin(angle);
        double dot = a * x + b * y + c * z, along = dot * (1.0 - cosine);
        double s = b * z - c * y, t = c * x - a * z, r = a * y - b * x;
        double depth = 1.0 / (z * cosine + r * sine + c * along);
        double u = (x * cosine + s * sine + a * along) * depth, v = (y * cosine + t * sine + b * along) * depth;
        double square = u * u + v * v;
        double distortion = 1.0 + camera[9] * square + camera[10] * square * square;
        double factor = distortion * camera[6];
        double slope = 2.0 * camera[6] * (camera[9] + 2.0 * camera[10] * square);
#pragma GCC unroll 2
        for (int e = 0; e < 2; e++) {
            double *out = blocks + 30 * i + 15 * e;
            double own = e ? v : u, by_factor = weight * own;
            double by_u = by_factor * slope * u + (e ? 0.0 : weight * factor);
            double by_v = by_factor * slope * v + (e ? weight * factor : 0.0);
            double p = by_u * depth, o = by_v * depth, w = -(by_u * u + by_v * v) * depth;
            double by_along = a * p + b * o + c * w, by_dot = (1.0 - cosine) * by_along;
            double by_x = cosine * p + sine * (c * o - b * w) + a * by_dot;
            double by_y = cosine * o + sine * (a * w - c * p) + b * by_dot;
            double by_z = cosine * w + sine * (b * p - a * o) + c * by_dot;
            double by_a = sine * (y * w - z * o) + along * p + x * by_dot;
            double by_b = sine * (z * p - x * w) + along * o + y * by_dot;
            double by_c = sine * (x * o - y * p) + along * w + z * by_dot;
            double by_angle = cosine * (s * p + t * o + r * w) - sine * (x * p + y * o + z * w - dot * by_along)
                              - (by_a * a + by_b * b + by_c * c) * inverse;
            out[0] = by_a * inverse + by_angle * a;
            out[1] = by_b * inverse + by_angle * b;
            out[2] = by_c * inverse + by_angle * c;
            out[3] = -by_x;
            out[4] = -by_y;
            out[5] = -by_z;
            out[6] = by_factor * distortion;
            out[7] = e ? 0.0 : weight;
            out[8] = e ? weight : 0.0;
            out[9] = by_factor * camera[6] * square;
            out[10] = by_factor * camera[6] * square * square;
            out[11] = by_x;
            out[12] = by_y;
            out[13] = by_z;
            out[14] = own * factor + camera[7 + e] - features[2 * i + e];
        }
        by_weights[i] = -2.0 * weight;
    }
}
