"""The colours of HTML in a notebook: those of JupyterLab's theme, light or dark; without one, those of a light page.

All text in these colours has a contrast of 4.5 to GROUND in both of JupyterLab's own themes.
"""

INK = "var(--jp-ui-font-color1, #2B2B2B)"
FAINT = "var(--jp-ui-font-color2, #6A6A6A)"
EDGE = "var(--jp-border-color2, #C8C8C8)"
GROUND = "var(--jp-layout-color0, #FFFFFF)"  # that of the notebook itself, in place of JupyterLab's stripes in tables
ACCENT = "var(--jp-brand-color1, #0072B2)"
RIGHT, WRONG = "var(--jp-success-color0, #1a7f37)", "var(--jp-error-color1, #cf222e)"
