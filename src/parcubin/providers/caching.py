"""A cache in memory in front of a provider."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from parcubin.errors import ParcubinError
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    LinkInput,
    Ptx,
    RelocatableKind,
    RelocatableModule,
    Target,
)
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.link_inputs import compile_link_inputs
from parcubin.providers.link_order import largest_alignment_first

ResultT = TypeVar("ResultT")

CAPACITY_BYTES = 512 * 1024 * 1024
"""CUBINs that one cache keeps; the least recently used ones give way."""


class _Cache:
    """Results by key. Whoever asks first for a key computes it, whoever asks meanwhile waits for that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, compute: Callable[[], ResultT]) -> ResultT:
        while True:
            with self._lock:
                future = self._results.get(key)
                if future is not None:
                    self._results.move_to_end(key)
                else:
                    mine = self._results[key] = Future()
            if future is None:
                return self._compute(key, mine, compute)
            try:
                result: ResultT = future.result()
            except CancelledError:  # the computing thread was interrupted
                continue
            return result

    def _compute(self, key: Hashable, future: Future[Any], compute: Callable[[], ResultT]) -> ResultT:
        try:
            result = compute()
        except BaseException as error:
            with self._lock:
                del self._results[key]
            if isinstance(error, ParcubinError):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        future.set_result(result)
        with self._lock:
            self._bytes += _size(result)
            for old in [k for k, f in self._results.items() if f.done() and k != key]:
                if self._bytes <= CAPACITY_BYTES:
                    break
                self._bytes -= _size(self._results.pop(old).result())
        return result


def _size(result: object) -> int:
    return len(result.cubin) if isinstance(result, Assembly | RelocatableModule) else 0


@dataclass(frozen=True)
class CachingProvider:
    """Compiles each PTX text once for each target, set of options and kind of module, however many threads ask.

    Failures are not kept. Links are not cached, but what they compile is. The cache is this object's: a copy in
    another process starts with an empty one.
    """

    delegate: CompilationProvider
    _cache: _Cache = field(default_factory=_Cache, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachingProvider, (self.delegate,)

    @property
    def name(self) -> str:
        return f"caching({self.delegate.name})"

    @property
    def identity(self) -> str:
        return self.delegate.identity

    @property
    def supports_compile_to_relocatable_module(self) -> bool:
        return self.delegate.supports_compile_to_relocatable_module

    @property
    def supports_compile_and_link(self) -> bool:
        return self.delegate.supports_compile_and_link

    @property
    def supports_link_to_relocatable_module(self) -> bool:
        return self.delegate.supports_link_to_relocatable_module

    @property
    def compiles_whole_program(self) -> bool:
        return self.delegate.compiles_whole_program

    def compile(self, target: Target, ptx: Ptx, options: CompilationOptions) -> Assembly:
        key = self._key(target, ptx, options, None)
        return self._cache.get(key, lambda: self.delegate.compile(target, ptx, options))

    def compile_to_relocatable_module(
        self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind
    ) -> RelocatableModule | DeferredModule:
        def compiled() -> RelocatableModule | DeferredModule:
            return self.delegate.compile_to_relocatable_module(target, ptx, options, kind)

        module = self._cache.get(self._key(target, ptx, options, kind), compiled)
        return DeferredModule(ptx) if isinstance(module, DeferredModule) else replace(module, name=ptx.name)

    def compile_and_link(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> Assembly:
        return self.delegate.compile_and_link(target, self._compiled(target, inputs, options), options)

    def link_to_relocatable_module(
        self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions
    ) -> RelocatableModule:
        return self.delegate.link_to_relocatable_module(target, self._compiled(target, inputs, options), options)

    def latest_ptx_isa_version(self) -> int:
        return self.delegate.latest_ptx_isa_version()

    def _compiled(self, target: Target, inputs: Sequence[LinkInput], options: CompilationOptions) -> list[LinkInput]:
        if not (self.supports_compile_to_relocatable_module and self.supports_compile_and_link):
            return list(inputs)
        return largest_alignment_first(compile_link_inputs(self, target, inputs, options))

    def _key(self, target: Target, ptx: Ptx, options: CompilationOptions, kind: RelocatableKind | None) -> Hashable:
        text = hashlib.sha256(ptx.text.encode("utf-8", errors="surrogatepass")).digest()
        return self.delegate.name, self.delegate.identity, target, options, kind, text
