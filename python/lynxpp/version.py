"""The version of lynxpp, the same as in CMakeLists.txt."""
VERSION = "0.1.0"
