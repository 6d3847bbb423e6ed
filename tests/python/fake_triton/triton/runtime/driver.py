class DriverConfig:
    """The driver in use: None at first, as on a machine without a GPU."""

    def __init__(self):
        self._active = None

    @property
    def active(self):
        if self._active is None:
            raise RuntimeError("0 active drivers ([]). There should only be one.")
        return self._active

    def set_active(self, driver):
        self._active = driver

    def reset_active(self):
        raise RuntimeError("0 active drivers ([]). There should only be one.")


driver = DriverConfig()
