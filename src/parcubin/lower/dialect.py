"""Floating-point literals of newer LLVM versions, in the spelling of LLVM 22.

LLVM 23 writes the bits of a value of any type as `f0x3F800000`, infinities and NaNs as `+inf`, `-qnan`, `+nan(0x1)`
and `+snan(0x1)`, and takes decimal and C99 hexadecimal literals that have to be rounded (LLVM Language Reference,
"Simple Constants"). LLVM 22 knows decimals that are exact and bits in hexadecimal: those of the double for `float` and
`double`, those of the type behind `0xH` for `half` and `0xR` for `bfloat`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_TOKEN = re.compile(
    r'"[^"]*"|;.*|[@%$!#][-\w$.]+'
    r"|\b(?P<type>half|bfloat|float|double)\b"
    r"|\bf0x(?P<bits>[0-9A-Fa-f]+)\b"
    r"|(?<![\w.])(?P<sign>[-+])(?:(?P<inf>inf)|(?P<qnan>qnan)|(?P<nan>s?nan)\(0x(?P<payload>[0-9A-Fa-f]+)\))"
    r"|(?<![\w.])(?P<hex>[-+]?0x[0-9A-Fa-f]*+\.?[0-9A-Fa-f]*p[-+]?\d+)"
    r"|(?<![\w.])(?P<decimal>[-+]?\d+\.\d*(?:[eE][-+]?\d+)?)"
)


@dataclass(frozen=True)
class _Format:
    """An IEEE 754 format."""

    bits: int
    fraction_bits: int
    prefix: str

    @property
    def exponent_bits(self) -> int:
        return self.bits - self.fraction_bits - 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def quiet(self) -> int:
        return 1 << (self.fraction_bits - 1)

    def rounded(self, value: Fraction) -> int | None:
        """The bits of the nearest value, ties to even; None where the nearest is zero or infinity and `value` is not:
        LLVM refuses those."""
        sign = int(value < 0) << (self.bits - 1)
        value = abs(value)
        if not value:
            return sign
        exponent = value.numerator.bit_length() - value.denominator.bit_length()
        exponent -= value < Fraction(2) ** exponent
        exponent = max(exponent, 1 - self.bias)
        significand = round(value / Fraction(2) ** (exponent - self.fraction_bits))
        # The implicit bit, or a carry out of the fraction, adds to the exponent.
        bits = ((exponent + self.bias - 1) << self.fraction_bits) + significand
        return sign | bits if 0 < bits < self.infinity else None

    def value(self, bits: int) -> Fraction:
        """The value of a finite number's bits."""
        exponent = (bits >> self.fraction_bits) & ((1 << self.exponent_bits) - 1)
        significand = bits & ((1 << self.fraction_bits) - 1)
        if exponent:
            significand |= 1 << self.fraction_bits
        scale = max(exponent, 1) - self.bias - self.fraction_bits
        value = significand * Fraction(2) ** scale
        return -value if bits >> (self.bits - 1) else value


_FORMATS = {
    "half": _Format(16, 10, "0xH"),
    "bfloat": _Format(16, 7, "0xR"),
    "float": _Format(32, 23, "0x"),
    "double": _Format(64, 52, "0x"),
}
_DOUBLE = _FORMATS["double"]

_MOST_DIGITS, _MOST_EXPONENT_DIGITS, _LARGEST_EXPONENT = 1200, 6, 1100


def in_llvm_22(text: str) -> str:
    """The module with literals that LLVM 22 reads. What has no certain meaning, such as a literal whose type the line
    does not tell, stays as it is, for LLVM to refuse. Lines stay where they are."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    if "f0x" not in line and not re.search(r"[-+](?:inf|s?nan|qnan)|\d\.\d|p[-+]?\d", line):
        return line
    kind = ""

    def spelled(token: re.Match[str]) -> str:
        nonlocal kind
        if token["type"]:
            kind = token["type"]
        elif kind and (bits := _bits(token, _FORMATS[kind])) is not None:
            return _spelling(bits, _FORMATS[kind])
        return token[0]

    return _TOKEN.sub(spelled, line)


def _bits(token: re.Match[str], form: _Format) -> int | None:
    """The bits of a literal that LLVM 22 does not read; None for any other token."""
    if token["bits"]:
        return int(token["bits"], 16) if len(token["bits"]) * 4 == form.bits else None
    if token["sign"]:
        sign = int(token["sign"] == "-") << (form.bits - 1)
        if token["inf"]:
            return sign | form.infinity
        if token["qnan"]:
            return sign | form.infinity | form.quiet
        payload = int(token["payload"], 16)
        if payload >= form.quiet or (token["nan"] == "snan" and not payload):
            return None
        return sign | form.infinity | payload | (form.quiet if token["nan"] == "nan" else 0)
    if token["hex"]:
        return form.rounded(_hexadecimal(token["hex"])) if _is_in_range(token["hex"], "p") else None
    if token["decimal"]:
        if form is _DOUBLE or not _is_in_range(token["decimal"], "e"):
            return None
        value = Fraction(token["decimal"].rstrip("."))
        bits = form.rounded(value)
        return bits if bits is not None and form.value(bits) != value else None
    return None


def _is_in_range(literal: str, mark: str) -> bool:
    """Whether a literal may be a finite number other than zero, and is not too long to find out. All the digits of a
    double are 767."""
    significand, _, exponent = literal.lower().partition(mark)
    if len(significand) > _MOST_DIGITS or len(exponent) > _MOST_EXPONENT_DIGITS:
        return False
    return abs(int(exponent or "0")) <= _LARGEST_EXPONENT + 4 * len(significand)


def _hexadecimal(literal: str) -> Fraction:
    sign = -1 if literal.startswith("-") else 1
    significand, exponent = literal.lstrip("+-")[2:].split("p")
    whole, _, fraction = significand.partition(".")
    return sign * Fraction(int(whole + fraction or "0", 16), 16 ** len(fraction)) * Fraction(2) ** int(exponent)


def _spelling(bits: int, form: _Format) -> str:
    if form.prefix != "0x":
        return f"{form.prefix}{bits:04X}"
    return f"0x{_as_double(bits, form):016X}"


def _as_double(bits: int, form: _Format) -> int:
    """The bits of the double that has a float's value, as LLVM writes floats."""
    if form is _DOUBLE:
        return bits
    sign = bits >> (form.bits - 1) << 63
    if bits & form.infinity == form.infinity:  # infinities and NaNs, whose payloads stand at the left
        fraction = bits & (form.quiet * 2 - 1)
        return sign | _DOUBLE.infinity | fraction << (_DOUBLE.fraction_bits - form.fraction_bits)
    wide = _DOUBLE.rounded(abs(form.value(bits)))
    assert wide is not None  # every float is a double
    return sign | wide
