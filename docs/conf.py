"""Sphinx configuration; ``make docs`` builds the pages and runs their examples."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "jittape"
author = "The jittape developers"
copyright = "The jittape developers"
release = version = installed_version("jittape")

extensions = [
    "myst_parser",
    "numpydoc",
    "promise_table",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.viewcode",
    "flow_diagram",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "support_tables",
]
templates_path = ["_templates"]
# sphinx-gallery runs the programs of these folders and writes their pages to generated/.
PROGRAM_FOLDERS = ["executed", "gallery", "tutorials"]
exclude_patterns = ["_build", "_extensions", *(f"{folder}/*" for folder in PROGRAM_FOLDERS)]
default_role = "autolink"  # a public name becomes a link, a parameter does not
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections name the types
numpydoc_show_class_members = False

doctest_global_setup = (
    "import numpy as np\nimport jittape as jt\njt.keras.utils.clear_session()"
)


# Builds that only run examples go on at the same time, after the pages are written: they must not write them again.
folders_to_run = [] if tags.has("pages-are-written") else PROGRAM_FOLDERS  # noqa: F821
sphinx_gallery_conf = {
    "examples_dirs": folders_to_run,
    "gallery_dirs": [f"generated/{folder}" for folder in folders_to_run],
    "filename_pattern": r"\.py$",  # run all of them
    "within_subsection_order": "program_style.ProgramOrder",
    "reset_modules": ("matplotlib", "program_style.same_style"),
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,  # with -W an error; the others still run
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": (),  # printed output only
    "min_reported_time": 3,
}


# Nothing is fetched while building, and nothing while reading.
html_theme = "pydata_sphinx_theme"
html_title = "jittape"
html_theme_options = {
    "header_links_before_dropdown": 8,  # every section is in the bar
    "navigation_depth": 2,  # the sidebar lists the pages of a section, not the entries of the reference
    "navigation_with_keys": False,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "coming-from/autograd": [],  # two columns of code
        "coming-from/jax": [],
        "coming-from/pytorch": [],
        "performance": [],  # wide tables
    },
    "show_prev_next": True,
}
html_static_path = ["_static"]
html_css_files = ["jittape.css"]
html_show_sourcelink = False
html_copy_source = False
# A sidebar with all entries of the reference on each of their pages would be most of the build.
html_sidebars = {"generated/jittape*": []}

# A copied example has no prompts.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def hide_internal_constructor(app, what, name, obj, options, signature, return_annotation):
    """Show no signature for a class that users do not construct: its docstring lists no parameters."""
    if what == "class" and "Parameters\n" not in (obj.__doc__ or ""):
        return "", None
    return None


def setup(app):
    app.connect("autodoc-process-signature", hide_internal_constructor, priority=900)
