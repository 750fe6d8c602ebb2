"""Figures that must hold: `python -m bench`. Ratios within one run, never times of a machine."""
