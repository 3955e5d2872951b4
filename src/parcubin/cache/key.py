"""Keys: everything that reaches a result, and nothing that does not.

A key is the hash of a JSON text, so that no two sets of facts give the same bytes. Facts of a job are listed field by
field; a field that is not listed is an error when the key is made.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from parcubin.cache.fingerprint import fingerprints, is_script, own_fingerprint
from parcubin.model import CompilationOptions, DeferredModule, DeviceLibrary, RelocatableModule

if TYPE_CHECKING:
    from parcubin.lower.interface import Llvm
    from parcubin.providers.interface import CompilationProvider
    from parcubin.toolchain.version import Tool
    from parcubin.workers.jobs import CompileShard, LinkShards, Lowering, PrintModule, ReadLibdevice

FORMAT = 1
"""Of entries and keys. Another number finds nothing of what was kept before."""

Key = str
"""64 hexadecimal digits."""

LOWERING_OPTIONS = frozenset({"opt_level", "llvm_opt_level", "debug_info", "inlining_threshold", "flush_to_zero"})
"""Options that reach LLVM."""

ASSEMBLING_OPTIONS = frozenset(
    {"opt_level", "fast_compile", "line_info", "debug_info", "max_registers", "fail_on_spill", "ptxas_options"}
)
"""Options that reach the compiler of the PTX and the linker."""

REPORT_OPTIONS = frozenset({"keep_log"})
"""Options that reach the report alone."""


def key_of(kind: str, facts: Mapping[str, Any]) -> Key:
    """The key of a result.

    Args:
        kind: what it is: "ptx", "module", "link".
        facts: what it depends on, as JSON has it.
    """
    text = json.dumps([FORMAT, own_fingerprint(), kind, facts], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def content_hash(data: bytes | str) -> str:
    """What stands for a text or a file in the facts of a key."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def options_of(options: CompilationOptions, names: frozenset[str]) -> dict[str, Any]:
    """The options of these names."""
    return {name: getattr(options, name) for name in names}


@dataclass(frozen=True)
class Toolchain:
    """What compiles, as far as it reaches a result.

    Attributes:
        llvm: what tells the LLVM from others.
        provider: what tells the compilation provider and its tools from others.
    """

    llvm: str
    provider: str

    @classmethod
    def of(cls, llvm: Llvm, provider: CompilationProvider | None, tools: Sequence[Tool]) -> Toolchain:
        """The toolchain of one compile.

        Args:
            llvm: what lowers.
            provider: what compiles the PTX.
            tools: the files that the provider uses. Of the driver there are none; its version is in its identity.
        """
        files = llvm.files()
        said = [llvm.identity] if any(map(is_script, files)) else []
        lowering = [type(llvm).__name__, *said, *fingerprints(files)]
        assembling = [
            *([provider.name, provider.identity] if provider else []),
            *zip([tool.name for tool in tools], fingerprints(tool.path for tool in tools), strict=True),
        ]
        return cls(key_of("llvm", {"files": lowering}), key_of("provider", {"files": assembling}))


def lowering_key(lowering: Lowering, toolchain: Toolchain) -> Key:
    """Of a shard's PTX. Not in it: the names of its modules, and their comments."""
    texts = [text_without_comments(part.text) for part in lowering.parts]
    libdevice = lowering.libdevice
    facts: dict[str, Callable[[], Any]] = {
        "llvm": lambda: toolchain.llvm,
        "parts": lambda: [content_hash(text) for text in texts],
        "target": lambda: lowering.target.name,
        "options": lambda: options_of(lowering.options, LOWERING_OPTIONS),
        "ptx_version": lambda: lowering.ptx_version,
        "keep": lambda: sorted(lowering.keep),
        "libdevice": lambda: content_hash(text_without_comments(libdevice.text)) if libdevice else None,
    }
    return key_of("ptx", _facts_of(lowering, facts))


def module_key(job: CompileShard, ptx: str, toolchain: Toolchain) -> Key:
    """Of a shard's compiled PTX. Not in it: what messages call the shard.

    Args:
        job: the job.
        ptx: the hash of its PTX, or what else tells it from others.
        toolchain: what compiles.
    """
    facts: dict[str, Callable[[], Any]] = {
        "name": lambda: None,
        "source": lambda: ptx,
        "target": lambda: job.target.name,
        "options": lambda: options_of(job.options, ASSEMBLING_OPTIONS),
        "provider": lambda: toolchain.provider if job.provider else None,
        "output": lambda: job.output,
        "must_be_plain": lambda: job.must_be_plain,
        "sole_constants": lambda: job.sole_constants,
        "other_pointers": lambda: job.other_pointers,
        "extensible_only": lambda: job.extensible_only,
    }
    return key_of("module", _facts_of(job, facts))


def link_key(job: LinkShards, toolchain: Toolchain) -> Key:
    """Of a linked CUBIN. Not in it: what messages call the modules, and what their compiler said of them."""
    facts: dict[str, Callable[[], Any]] = {
        "provider": lambda: toolchain.provider,
        "target": lambda: job.target.name,
        "modules": lambda: [_module_facts(module) for module in job.modules],
        "options": lambda: options_of(job.options, ASSEMBLING_OPTIONS),
        "kernels": lambda: sorted(job.kernels),
        "variables": lambda: sorted(job.variables),
        "relocatable": lambda: job.relocatable,
    }
    return key_of("link", _facts_of(job, facts))


def printing_key(job: PrintModule, toolchain: Toolchain) -> Key:
    """Of LLVM IR as LLVM prints it."""
    facts: dict[str, Callable[[], Any]] = {
        "source": lambda: content_hash(job.source),
        "name": lambda: None,
        "llvm": lambda: toolchain.llvm,
    }
    return key_of("printed", _facts_of(job, facts))


def libdevice_key(job: ReadLibdevice, toolchain: Toolchain) -> Key:
    """Of functions of libdevice as text."""
    facts: dict[str, Callable[[], Any]] = {
        "path": lambda: fingerprints([job.path]),
        "names": lambda: sorted(job.names),
        "llvm": lambda: toolchain.llvm,
    }
    return key_of("libdevice", _facts_of(job, facts))


def _facts_of(job: Any, facts: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """The facts of every field, and no more.

    Raises:
        KeyError: a field has none.
    """
    return {field.name: facts[field.name]() for field in fields(job)}


def _module_facts(module: RelocatableModule | DeferredModule | DeviceLibrary) -> list[str]:
    if isinstance(module, RelocatableModule):
        return [module.kind.value, content_hash(module.cubin)]
    if isinstance(module, DeferredModule):
        return ["deferred", content_hash(module.ptx.text)]
    return ["library", content_hash(module.archive)]


_COMMENT = re.compile(r"\n?[ \t]*;[^\n]*")  # with its line, where it is all that the line holds
_STRING_OR_COMMENT = re.compile(r'("[^"]*")|\n?[ \t]*;[^\n]*')
_SOURCE_FILE = "source_filename = "
_PTX_STRING_OR_COMMENT = re.compile(r'("[^"]*")|//[^\n]*|/\*.*?\*/', re.S)
_PTX_LINES = re.compile(r"\.(?:loc|file|section)\b")


def text_without_comments(text: str) -> str:
    """LLVM IR without comments and the name of its source file. Strings, in which a semicolon is none, end with the
    next quotation mark."""
    start = text.find(_SOURCE_FILE)
    if start >= 0 and text[start - 1 : start] in ("", "\n") and '"' not in text[:start]:
        text = text[:start] + text[start:].partition("\n")[2]
    if ";" not in text:
        return text
    pieces = text.split('"')
    for number in range(0, len(pieces), 2):
        if ";" in (piece := pieces[number]):
            if number + 1 < len(pieces) and ";" in piece[piece.rfind("\n") + 1 :]:  # the quotation mark is a comment's
                return _STRING_OR_COMMENT.sub(r"\1", text)
            pieces[number] = _COMMENT.sub("", piece)
    return '"'.join(pieces)


def ptx_hash(text: str, options: CompilationOptions) -> str:
    """What stands for PTX in a key. Lines count, because messages name them. Where line tables are kept, for which
    options that are not known here may ask, ptxas keeps the text, too, and comments count."""
    if not (options.line_info or options.debug_info or options.ptxas_options or _PTX_LINES.search(text)):
        text = _PTX_STRING_OR_COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n") or " ", text)
    return content_hash(text)
