"""How Sphinx builds the site of lectures and labs. No page of it asks the network for anything."""

project = "Lockstep"
author = "the Lockstep authors"
copyright = "the Lockstep authors. Texts and pictures: CC BY 4.0"
root_doc = "course/lectures/index"
extensions = ["myst_nb", "sphinx.ext.autodoc"]
autodoc_typehints = "none"  # prose says what is taken and given
autodoc_member_order = "bysource"
add_module_names = False
default_role = "code"  # of `this` in a docstring
exclude_patterns = [
    "**/README.md",
    "CONTRIBUTING.md",
]  # two of them are included by pages of docs/
nb_execution_mode = "off"
nb_output_stderr = "remove"
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["dollarmath", "colon_fence", "amsmath"]
myst_heading_anchors = 3
suppress_warnings = [
    "toc.not_included",  # each lab has its own copy of the glossary
    "mystnb.unknown_mime_type",
]
mathjax_path = "tex-svg.js"  # MathJax in one file: by itself it would come from a CDN
html_theme = "sphinx_book_theme"
html_title = "Lockstep"
html_static_path = ["static"]
html_css_files = ["lectures.css"]
html_js_files = ["enlarge.js", "reach.js"]
html_context = {
    "default_mode": "auto"
}  # without it, the theme complains at a first visit
# The theme's list, without a second field for searches: one is in the bar at the top.
html_sidebars = {"**": ["navbar-logo.html", "icon-links.html", "sbt-sidebar-nav.html"]}
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # a page cannot fetch another one from a folder
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "use_edit_page_button": False,
    "use_repository_button": False,
    "show_toc_level": 2,
    "toc_title": "On this page",
}
