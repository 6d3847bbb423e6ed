"""The exceptions of the package."""


class Error(RuntimeError):
    """Something that lynxpp cannot do. `hint` says how to avoid it; "" if unknown."""

    def __init__(self, message, hint=""):
        super().__init__(message + (f"\n  hint: {hint}" if hint else ""))
        self.hint = hint


class LibraryError(Error):
    """lynxpp's libraries are missing, or are not in this process."""


class PtxError(Error):
    """PTX that cannot be loaded, or an instruction that the cpu device does not support.

    `line` and `column` count from 1; None if unknown. `source` is the text of the line.
    """

    def __init__(self, message, text="", line=None, column=None, hint=""):
        lines = text.split("\n")
        self.line, self.column = line, column
        self.source = lines[line - 1] if line is not None and line <= len(lines) else None
        shown = f"line {line}: {message}" if line is not None else message
        super().__init__(shown + (f"\n    {self.source.strip()}" if self.source else ""), hint)


class KernelError(PtxError):
    """A kernel failed while it ran: an illegal address, a trap, a barrier that waits forever."""
