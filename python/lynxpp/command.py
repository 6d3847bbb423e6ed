"""The command `lynxpp` of a wheel."""
import os
import sys

from .errors import LibraryError
from .libraries import find_home


def main():
    """Replaces this process by the program of the same name."""
    try:
        program = find_home() / "bin" / "lynxpp"
        os.execv(program, [str(program), *sys.argv[1:]])
    except (LibraryError, OSError) as problem:
        sys.exit(f"lynxpp: error: {problem}")
