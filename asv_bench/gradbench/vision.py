"""Jacobians of residuals: bundle adjustment, and the tracking of a hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradbench.evaluation import Evaluation
from gradbench.libraries import Library

__all__ = ["BundleAdjustment", "HandTracking"]


class BundleAdjustment(Evaluation):
    """Blocks of the sparse Jacobian: two reprojection errors of each observation by camera, point and weight.

    A camera has a rotation vector, a center, a focal length, a principal point and two coefficients of distortion. The
    second result is the derivative of the error of each weight.
    """

    title = "ba"
    sizes = ("cameras", "points", "observations")
    cameras, points, observations = 49, 7_776, 31_843

    def data(self) -> None:
        rng = np.random.default_rng(0)
        camera = np.concatenate(
            [rng.normal(size=3), rng.normal(size=3), [1.5], rng.normal(size=2), [0.1, 0.02]]
        )
        cameras = camera + 0.1 * rng.normal(size=(self.cameras, 11))
        points = np.array([0.3, -0.2, 8.0]) + rng.normal(size=(self.points, 3))
        features = rng.normal(size=(self.observations, 2))
        weights = rng.uniform(0.5, 1.0, size=self.observations)
        pairs = np.arange(self.observations)[:, None] % np.array([self.cameras, self.points])
        self.arguments = (cameras, points, weights, features, pairs)

    def program(self, library: Library) -> Any:
        xp, errors = library.xp, self.objective(library)

        def blocks(cameras: Any, points: Any, weights: Any, features: Any, pairs: Any) -> Any:
            columns = xp.concatenate([cameras[pairs[:, 0]].T, points[pairs[:, 1]].T, weights[None]], axis=0)
            by_column = library.jacobians_of_columns(lambda c: errors(c, features), 2)(columns)
            return xp.moveaxis(by_column, 2, 0), -2.0 * weights

        return blocks

    def objective(self, library: Library) -> Any:
        """Errors of observations, each a column of 11 numbers of the camera, 3 of the point and the weight."""
        xp = library.xp

        def result(columns: Any, features: Any) -> Any:
            a, b, c = (columns[i] for i in range(3))
            x, y, z = (columns[11 + i] - columns[3 + i] for i in range(3))
            angle = xp.sqrt(a * a + b * b + c * c)
            a, b, c = a / angle, b / angle, c / angle
            cos, sin = xp.cos(angle), xp.sin(angle)
            along = (a * x + b * y + c * z) * (1.0 - cos)
            u = x * cos + (b * z - c * y) * sin + a * along
            v = y * cos + (c * x - a * z) * sin + b * along
            w = z * cos + (a * y - b * x) * sin + c * along
            u, v = u / w, v / w
            square = u * u + v * v
            factor = (1.0 + columns[9] * square + columns[10] * square * square) * columns[6]
            first = columns[14] * (u * factor + columns[7] - features[:, 0])
            second = columns[14] * (v * factor + columns[8] - features[:, 1])
            return first, second

        return result


class HandTracking(Evaluation):
    """Jacobian of the distances of measured points from the skin of a hand by 26 parameters of the pose.

    The parameters are a rotation vector and a translation of the hand, and four angles of each finger.
    """

    title = "ht"
    sizes = ("correspondences",)
    bones, vertices, correspondences = 22, 544, 200

    def data(self) -> None:
        rng = np.random.default_rng(0)
        self.parents = [-1, *[0 if i % 4 == 1 else i - 1 for i in range(1, self.bones)]]
        self.relatives, self.inverses = self.placements(rng), np.linalg.inv(self.placements(rng))
        self.places = np.zeros((3 * self.bones, 20))
        entries = [3 * (2 + 4 * f + b) + k for f in range(5) for b, k in ((0, 0), (0, 1), (1, 0), (2, 0))]
        self.places[entries, np.arange(20)] = 1.0
        base = np.concatenate([rng.normal(size=(3, self.vertices)), np.ones((1, self.vertices))])
        weights = rng.dirichlet(np.full(self.bones, 0.1), size=self.vertices).T
        measured = rng.normal(size=(3, self.correspondences))
        nearest = rng.integers(self.vertices, size=self.correspondences)
        theta = 0.5 * rng.normal(size=26)
        self.arguments = (theta, base, weights, measured, nearest)

    def placements(self, rng: Any) -> Any:
        """Return a rotation and translation of each bone, as homogeneous matrices."""
        matrices = np.tile(np.eye(4), (self.bones, 1, 1))
        matrices[:, :3, :3] = np.linalg.qr(rng.normal(size=(self.bones, 3, 3)))[0]
        matrices[:, :3, 3] = rng.normal(size=(self.bones, 3))
        return matrices

    def program(self, library: Library) -> Any:
        errors = self.objective(library)

        def jacobian(theta: Any, *data: Any) -> Any:
            return library.jacobian(lambda t: errors(t, *data))(theta)

        return jacobian

    def objective(self, library: Library) -> Any:
        xp = library.xp
        relatives, inverses, places, corner, identity = (
            library.array(a)
            for a in (self.relatives, self.inverses, self.places, np.diag([0.0, 0.0, 0.0, 1.0]), np.eye(3))
        )

        def turned(angles: Any) -> Any:
            """Homogeneous matrices of rotations by the angles about x, then y, then z."""
            cos, sin = xp.cos(angles), xp.sin(angles)
            (a, b, c), (d, e, f) = ((m[:, 0], m[:, 2], m[:, 1]) for m in (cos, sin))
            zero = xp.zeros_like(a)
            rows = [
                [c * b, c * e * d - f * a, c * e * a + f * d, zero],
                [f * b, f * e * d + c * a, f * e * a - c * d, zero],
                [-e, b * d, b * a, zero],
                [zero, zero, zero, zero],
            ]
            return xp.stack([xp.stack(row, axis=1) for row in rows], axis=1) + corner

        def rotation(vector: Any) -> Any:
            angle = xp.sqrt(xp.sum(vector * vector))
            x, y, z = (vector[i] / angle for i in range(3))
            zero = 0.0 * x
            cross = xp.stack(
                [xp.stack(row, axis=0) for row in ([zero, -z, y], [z, zero, -x], [-y, x, zero])], axis=0
            )
            return identity + xp.sin(angle) * cross + (1.0 - xp.cos(angle)) * (cross @ cross)

        def result(theta: Any, base: Any, weights: Any, measured: Any, nearest: Any) -> Any:
            local = relatives @ turned(xp.reshape(places @ theta[6:], (self.bones, 3)))
            absolute: list[Any] = []
            for i, parent in enumerate(self.parents):
                absolute.append(local[i] if parent < 0 else absolute[parent] @ local[i])
            moved = (xp.stack(absolute, axis=0) @ inverses)[:, :3] @ base
            skin = xp.sum(moved * weights[:, None], axis=0)
            skin = rotation(theta[:3]) @ skin + theta[3:6][:, None]
            return xp.reshape((measured - skin[:, nearest]).T, (-1,))

        return result
