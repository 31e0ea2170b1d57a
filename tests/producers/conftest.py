"""Tests with the packages of requirements.txt, which are large; DEQUANT_CLI is the program, by
default that of the folder build."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("DEQUANT_CLI", str(ROOT / "build" / "dequant"))
os.environ.setdefault("GPTQMODEL_CPU_WORKERS", "2")  # its pools refuse a machine of two processors
