"""The words that keys of several parts share, as types: which form each has."""

from __future__ import annotations

from typing import Annotated

from healthd.settings import forms, quantities, unit_names

AnyUnit = Annotated[str, unit_names.Unit()]
Service = Annotated[str, unit_names.Unit(("service",))]
Word = Annotated[str, forms.WORD]
Path = Annotated[str, forms.AbsolutePath()]
Url = Annotated[str, forms.URL]
Span = Annotated[int, quantities.Span()]
Percent = Annotated[float, quantities.Percent()]
Expression = Annotated[str, forms.Expression()]
Host = Annotated[str, forms.HOST_NAME]
