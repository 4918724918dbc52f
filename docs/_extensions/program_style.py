"""What holds for every program that sphinx-gallery runs."""

import warnings

import matplotlib

STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 120,
    "figure.figsize": (7, 3.5),
    "font.size": 10,
}


def same_style(gallery_conf, program):
    """Start each program with the same size and font of pictures."""
    matplotlib.rcParams.update(STYLE)
    warnings.filterwarnings("error", module="jittape")
