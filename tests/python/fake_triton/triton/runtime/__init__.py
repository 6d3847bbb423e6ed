from .driver import driver

__all__ = ["driver"]
