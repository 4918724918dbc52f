"""Sphinx configuration; ``make docs`` builds the pages and runs their examples."""

from importlib.metadata import version as installed_version

project = "jittape"
author = "The jittape developers"
copyright = "The jittape developers"
release = version = installed_version("jittape")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "autolink"  # a public name becomes a link, a parameter does not
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections name the types
numpydoc_show_class_members = False

doctest_global_setup = "import numpy as np\nimport jittape as jt"


# Nothing is fetched while building, and nothing while reading.
html_theme = "pydata_sphinx_theme"
html_title = "jittape"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
html_show_sourcelink = False
html_copy_source = False

# There is one level of pages, all of them in the bar at the top.
html_sidebars: dict[str, list[str]] = {"**": []}


def hide_internal_constructor(app, what, name, obj, options, signature, return_annotation):
    """Show no signature for a class that users do not construct: its docstring lists no parameters."""
    if what == "class" and "Parameters\n" not in (obj.__doc__ or ""):
        return "", None
    return None


def setup(app):
    app.connect("autodoc-process-signature", hide_internal_constructor, priority=900)
