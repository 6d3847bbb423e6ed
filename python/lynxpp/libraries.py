"""Finds the libraries of lynxpp."""
import os
import pathlib
import shutil

from .errors import LibraryError

PRELOAD = pathlib.Path("lib", "liblynxpp.so")


def _candidates():
    """Yields folders that may hold bin/ and lib/, best first."""
    if wanted := os.environ.get("LYNXPP_HOME"):
        yield pathlib.Path(wanted)
    here = pathlib.Path(__file__).resolve().parent
    yield here / "native"  # a wheel
    if len(here.parents) > 3:
        yield here.parents[3]  # FOLDER/share/lynxpp/python/lynxpp, of cmake --install
    yield here.parents[1] / "build" / "release"  # the repository
    for preload in os.environ.get("LD_PRELOAD", "").replace(":", " ").split():
        if preload.endswith("/liblynxpp.so"):
            yield pathlib.Path(preload).resolve().parents[1]
    if command := shutil.which("lynxpp"):
        yield pathlib.Path(command).resolve().parents[1]


def find_home():
    """Returns the folder of lynxpp: an installation, a build folder, or that of the wheel. Raises
    LibraryError if none exists."""
    for folder in _candidates():
        if (folder / PRELOAD).is_file():
            return folder.resolve()
        if str(folder) == os.environ.get("LYNXPP_HOME"):
            raise LibraryError(f"LYNXPP_HOME is {folder}, which has no {PRELOAD}")
    raise LibraryError(
        "cannot find liblynxpp.so",
        "set LYNXPP_HOME to the folder of an installation or a build, which has lib/liblynxpp.so",
    )
