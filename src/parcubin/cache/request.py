"""What a program is made of, and the keys that follow from it. Workers wait for this, so it imports little."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from parcubin.cache.fingerprint import fingerprints
from parcubin.cache.key import FORMAT, Key, Toolchain, content_hash, key_of
from parcubin.model import CompilationOptions, Emit, Target


@dataclass(frozen=True)
class Request:
    """What a program is made of, but for the toolchain.

    Attributes:
        inputs: the inputs as they are, packed ones packed.
        target: the architecture.
        options: all of them, since the report counts as well.
        output: what is asked for.
        split: whether it may be made of shards.
        in_parts_only: whether it has to be, and how; see `Compiler.compile`.
    """

    inputs: tuple[bytes, ...]
    target: Target
    options: CompilationOptions
    output: Emit
    split: bool
    in_parts_only: bool = False

    @cached_property
    def key(self) -> Key:
        """Says that this was asked for before, whatever compiled it. Nothing but the start of workers depends on it, so
        parcubin itself is not in it."""
        text = json.dumps([FORMAT, "request", self._facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def program_key(self, toolchain: Toolchain, libdevice: Path | None) -> Key:
        """The key of the program.

        Args:
            toolchain: what compiles.
            libdevice: NVIDIA's device library; None when it was not found.
        """
        compiled_by = {
            "llvm": toolchain.llvm,
            "provider": toolchain.provider,
            "libdevice": fingerprints([libdevice]) if libdevice else None,
        }
        return key_of("program", {**self._facts, **compiled_by})

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """What reaches the output. The order of the inputs does not."""
        return {
            "inputs": sorted(map(content_hash, self.inputs)),
            "target": self.target.name,
            "options": {field.name: getattr(self.options, field.name) for field in fields(self.options)},
            "output": self.output,
            "split": self.split,
            "in_parts_only": self.in_parts_only,
        }
