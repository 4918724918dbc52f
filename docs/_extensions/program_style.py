"""What holds for every program that sphinx-gallery runs."""

import warnings
from pathlib import Path

import matplotlib
from sphinx_gallery.sorting import FileNameSortKey

STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 120,
    "figure.figsize": (7, 3.5),
    "font.size": 10,
}

TUTORIALS = (
    "training_loop",
    "custom_optimizer",
    "nested_tapes",
    "options",
    "ode_fit",
    "gaussian_processes",
    "state_space",
    "hmc",
    "convnet",
    "wgan",
    "sparse_problems",
)
"""Tutorials in the order in which the docs list them."""


class ProgramOrder(FileNameSortKey):
    """Sort key of the programs in a folder: tutorials by `TUTORIALS`, others by name."""

    def __call__(self, filename):
        name = Path(filename).stem
        if Path(self.src_dir).name == "tutorials":
            return f"{TUTORIALS.index(name):02}"
        return filename


def same_style(gallery_conf, program):
    """Start each program with the same size and font of pictures."""
    matplotlib.rcParams.update(STYLE)
    warnings.filterwarnings("error", module="jittape")
