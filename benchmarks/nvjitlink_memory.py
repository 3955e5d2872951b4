"""How the memory of a process grows with nvJitLink links: `python benchmarks/nvjitlink_memory.py [LIBRARY]`.

Links two small modules over and over in one process, first from one thread and then from four, and prints the resident
memory along the way. docs/providers.md has the figures.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from parcubin.model import CompilationOptions, LinkInput, Ptx, Target
from parcubin.providers.nvjitlink import NvJitLinkProvider
from parcubin.toolchain.locate import find
from parcubin.toolchain.version import Tool

TARGET = Target("sm_80")
LINKS = 2000
WARM_UP = 100
HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"
CALLER = Ptx(HEADER + ".extern .func helper();\n.visible .entry kernel() { bar.sync 0; call helper; ret; }\n", "caller")
HELPER = Ptx(HEADER + ".visible .func helper() { bar.sync 1; ret; }\n", "helper")


def main() -> None:
    file = find("nvJitLink", sys.argv[1] if len(sys.argv) > 1 else None)
    if file is None:
        sys.exit("There is no libnvJitLink on this machine.")
    provider = NvJitLinkProvider(Tool.library("nvJitLink", file.path))
    inputs: list[LinkInput] = [CALLER, HELPER]
    options = CompilationOptions()
    if provider.supports_compile_to_relocatable_module:
        from parcubin.model import RelocatableKind

        inputs = [
            provider.compile_to_relocatable_module(TARGET, ptx, options, RelocatableKind.PLAIN)
            for ptx in (CALLER, HELPER)
        ]
    what = "modules" if provider.supports_compile_to_relocatable_module else "PTX"

    def link(_number: int) -> None:
        provider.compile_and_link(TARGET, inputs, options)

    print(f"{provider.identity}, links of two {what}")
    for threads in (1, 4):
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(link, range(WARM_UP)))
            warm = resident_kib()
            for done in range(500, LINKS + 1, 500):
                list(pool.map(link, range(500)))
                print(f"{threads} threads, {done:>4} links: {resident_kib() - warm:>7} KiB more than after {WARM_UP}")


def resident_kib() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


if __name__ == "__main__":
    main()
