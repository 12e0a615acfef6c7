"""The refusal of a profile: a code for machines, the column, a sentence for people."""

from winnow.errors import DataError


class Rejected(DataError):  # noqa: N818 - it names an outcome beside native and hybrid
    """A profile Winnow does not take. `column` counts characters from 1; 0 means the profile as a whole."""

    def __init__(self, code: str, message: str, *, column: int = 0, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
        self.column = column
