"""Paths: of this clone, and in a course's folder those of its labs and its class."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# In a course's folder. The class is not below build/, which people delete.
SOURCE = "build/solutions"
LABS = "labs"
CLASS = "class"
