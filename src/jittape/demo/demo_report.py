"""Demo: train twice, compiled and interpreted, and print the results. Start at `run`."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import jittape as jt
from jittape.demo.digits import BATCH, predict, train
from jittape.demo.picture import Misread, draw

__all__ = ["run"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Data:
    """Handwritten digits, 8 by 8 pixels of 0 to 16: training set and test set."""

    train_images: Array
    train_labels: Array
    held_out_images: Array
    held_out_labels: Array
    held_out_pixels: Array


@dataclass(frozen=True)
class Training:
    """Result of a run of `train`."""

    weights: list[jt.Variable]
    losses: list[float]
    times: list[float]
    steps_per_epoch: int

    @property
    def steps_per_second(self) -> float:
        """Steps per second of the median epoch, without the first, which also compiles."""
        ends = np.array(self.times[self.steps_per_epoch - 1 :: self.steps_per_epoch])
        return self.steps_per_epoch / float(np.median(np.diff(ends)))


def load() -> Data:
    """Return scikit-learn's digits, split and standardized pixel by pixel."""
    pixels, labels = load_digits(return_X_y=True)
    train_pixels, held_out_pixels, train_labels, held_out_labels = train_test_split(
        pixels, labels, test_size=0.2, random_state=0, stratify=labels
    )
    # Corners are always blank; the 1 avoids a division by zero.
    mean, spread = train_pixels.mean(axis=0), train_pixels.std(axis=0) + 1.0

    def standardized(part: Array) -> Array:
        return ((part - mean) / spread).astype(np.float32)

    return Data(
        train_images=standardized(train_pixels),
        train_labels=train_labels,
        held_out_images=standardized(held_out_pixels),
        held_out_labels=held_out_labels,
        held_out_pixels=held_out_pixels,
    )


def watched_training(data: Data, epochs: int, name: str) -> Training:
    """Train with a progress bar; record the loss and the time of every step."""
    steps_per_epoch = len(data.train_images) // BATCH
    losses: list[float] = []
    times: list[float] = []
    # In a log file, the bar is written only every few seconds.
    interval = 0.1 if sys.stderr.isatty() else 5.0
    with tqdm(total=epochs * steps_per_epoch, desc=name, unit=" steps", mininterval=interval) as bar:

        def report(loss: float) -> None:
            losses.append(loss)
            times.append(time.perf_counter())
            if len(losses) % 10 == 0:
                bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
            bar.update()

        weights = train(data.train_images, data.train_labels, epochs, report)
    return Training(weights, losses, times, steps_per_epoch)


def interpreted_training(data: Data, epochs: int) -> Training:
    """Train with NumPy, op by op."""
    before = jt.config.interpret
    jt.config.interpret = True
    try:
        return watched_training(data, epochs, "NumPy interpreter")
    finally:
        jt.config.interpret = before


def run(epochs: int, output: Path) -> None:
    """Train, compare, draw the picture and print the results.

    Parameters
    ----------
    epochs : int
        Passes over the training set, at least 2; the first is not timed.
    output : Path
        Path of the picture.
    """
    data = load()
    before = jt.stats()
    compiled = watched_training(data, epochs, "compiled")
    after = jt.stats()
    interpreted = interpreted_training(data, epochs)

    read = predict(data.held_out_images, compiled.weights)
    wrong = np.flatnonzero(read != data.held_out_labels)
    misread: list[Misread] = [
        (data.held_out_pixels[i].reshape(8, 8), int(read[i]), int(data.held_out_labels[i])) for i in wrong
    ]
    held_out = len(read)
    draw(output, {"compiled": compiled.losses, "interpreted": interpreted.losses}, misread, held_out)

    ratio = compiled.steps_per_second / interpreted.steps_per_second
    print(
        f"\n"
        f"accuracy on held-out digits   {1 - len(wrong) / held_out:.4f}"
        f"   ({held_out - len(wrong)} of {held_out})\n"
        f"compiled                      {compiled.steps_per_second:,.0f} steps/s\n"
        f"NumPy interpreter             {interpreted.steps_per_second:,.0f} steps/s\n"
        f"ratio                         {ratio:.1f}\n"
        f"programs compiled             {after.programs - before.programs}\n"
        f"kernels compiled              {after.kernels - before.kernels}"
        f"   ({after.compile_seconds - before.compile_seconds:.2f} s for all)\n"
        f"picture                       {output.resolve()}\n"
        f"next: jittape demo --list shows four other demos"
    )
