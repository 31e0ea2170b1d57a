"""The exception that dequant adds to Python's built-in exceptions."""


class UnsupportedError(ValueError, NotImplementedError):
    """A specification allows the arguments or the file, but dequant cannot compute the result
    exactly. dequant never approximates a result."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
