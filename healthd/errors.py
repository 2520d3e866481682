"""The one exception of healthd: "healthd could not", a code for programs, words for people."""

from __future__ import annotations


class HealthdError(Exception):
    """*code* is for programs (kebab-case), *message* for people, *hint* names the next step or is
    empty.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message
