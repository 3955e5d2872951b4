"""One line of LLVM IR that defines or declares a variable, an alias or an ifunc."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from parcubin.split.llvm_text import NAME, NotInPrintedFormError

LINKAGES = (
    "private|internal|available_externally|linkonce_odr|linkonce|weak_odr|weak|common|appending|extern_weak|external"
)
_HEADER = re.compile(
    rf"@(?P<name>{NAME}) = (?P<words>(?:[a-z_]+(?:\([^)\s]*\))? )*?)"
    r"(?P<keyword>global|constant|alias|ifunc) (?P<rest>.*)",
    re.A,
)
_LINKAGE = re.compile(rf"\b(?:{LINKAGES})\b")
_ADDRESS_SPACE = re.compile(r"\baddrspace\((\d+)\)")
_ENDING = r"(?:, ![-\w$.\\]+ !\d+)*(?: #\d+)?$"
_COMDAT = re.compile(rf", comdat(?:\(\${NAME}\))?(?:, align \d+)?{_ENDING}", re.A)
_ALIGNMENT = re.compile(rf", align (\d+)(?={_ENDING})", re.A)
_PLACE_OF_ALIGNMENT = re.compile(rf"(?:, align \d+)?(?={_ENDING})", re.A)
_WORDS_OF_DEFINITIONS = re.compile(rf"\b(?:{LINKAGES}|hidden|protected|default|dso_local|dso_preemptable) ")
_TYPE_GOES_ON = (" addrspace(", " (")  # a pointer's address space, and in older IR the type of a function
_ADDRESS_MATTERS_NOT = re.compile(r"\b(?:local_)?unnamed_addr ")


@dataclass(frozen=True)
class Global:
    """A variable, alias or ifunc.

    Attributes:
        name: as it is spelled.
        words: linkage, visibility, thread-local mode, address space and so on, each with a space after it.
        keyword: `global`, `constant`, `alias` or `ifunc`.
        rest: type, initial value and what follows.
    """

    name: str
    words: str
    keyword: str
    rest: str

    @staticmethod
    def parse(line: str) -> Global:
        """Raises `NotInPrintedFormError` for anything else."""
        header = _HEADER.fullmatch(line)
        if header is None:
            raise NotInPrintedFormError(line[:120])
        return Global(header["name"], header["words"], header["keyword"], header["rest"])

    @cached_property
    def linkage(self) -> str:
        found = _LINKAGE.search(self.words)
        return found[0] if found else "external"

    @cached_property
    def defined(self) -> bool:
        """Whether this is a definition; what `available_externally` has is for optimisation only."""
        declares = re.search(r"\b(?:external|extern_weak|available_externally) ", self.words)
        return declares is None

    @cached_property
    def space(self) -> int:
        found = _ADDRESS_SPACE.search(self.words)
        return int(found[1]) if found else 0

    @property
    def externally_initialized(self) -> bool:
        return "externally_initialized " in self.words

    @property
    def is_host_initialized(self) -> bool:
        """Whether the host may set its value, so that it has to be there. What every file may define anew (`linkonce`)
        may be dropped when nothing refers to it, whoever initializes it."""
        return self.externally_initialized and self.linkage not in ("linkonce", "linkonce_odr")

    @property
    def alignment(self) -> int | None:
        """In bytes; None where none is written."""
        found = _ALIGNMENT.search(self.rest)
        return int(found[1]) if found else None

    def aligned_to(self, alignment: int) -> str:
        """The definition or declaration with another alignment, in bytes."""
        rest = _PLACE_OF_ALIGNMENT.sub(f", align {alignment}", self.rest, count=1)
        return f"@{self.name} = {self.words}{self.keyword} {rest}"

    @property
    def in_comdat(self) -> bool:
        return _COMDAT.search(self.rest) is not None

    def definition(self, linkage: str) -> str:
        """The definition with another linkage and visible in the default way."""
        spelled = "" if linkage == "external" else f"{linkage} "  # the word is for declarations only
        return f"@{self.name} = {spelled}{_WORDS_OF_DEFINITIONS.sub('', self.words)}{self.keyword} {self.rest}"

    def declaration_with_value(self) -> str:
        """The declaration of a constant that another module defines, with its value for LLVM to use. Without
        optimisation LLVM makes a weak definition of it, which gives way to the other."""
        return self.definition("available_externally")

    def declaration(self) -> str:
        """The declaration of a variable that another module defines."""
        words = _ADDRESS_MATTERS_NOT.sub("", _WORDS_OF_DEFINITIONS.sub("", self.words))
        alignment = _ALIGNMENT.search(self.rest)
        type_ = self.rest[: _type_end(self.rest)]
        return f"@{self.name} = external {words}{self.keyword} {type_}{alignment[0] if alignment else ''}"


def _type_end(text: str) -> int:
    """Where the type that `text` starts with ends."""
    depth = 0
    for token in re.finditer(r'"[^"]*"|[\[\]{}<>()]|[ ,]', text):
        position = token.start()
        if token[0] in "[{<(":
            depth += 1
        elif token[0] in "]}>)":
            depth -= 1
        elif depth == 0 and token[0] in " ," and not text.startswith(_TYPE_GOES_ON, position):
            return position
    return len(text)
