"""What dequant raises besides Python's own exceptions."""


class UnsupportedError(ValueError, NotImplementedError):
    """What a specification allows and dequant does not do exactly: it is refused, never
    approximated."""
