"""Importing this ends the program with 77, which tests take as skipped, where numpy is missing."""
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    print("needs numpy (Debian: python3-numpy)")
    sys.exit(77)
