class constexpr:  # pylint: disable=invalid-name
    """Annotates parameters that are constants of the compilation."""
