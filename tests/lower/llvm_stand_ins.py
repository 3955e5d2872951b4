"""Stand-ins for LLVM's executables, for what the real ones do not do on demand."""

from __future__ import annotations

from pathlib import Path

HELP = """Available CPUs for this target:

  sm_80   - Select the sm_80 processor.
  sm_90a  - Select the sm_90a processor.

Available features for this target:

  ptx32   - Use PTX version 32.
  ptx78   - Use PTX version 78.
  ptx93   - Use PTX version 93.
  sm_80   - Target SM 80.
"""


def write_script(path: Path, text: str) -> None:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def install(
    folder: Path,
    version: str = "23.1.0",
    *,
    llc_version: str | None = None,
    help_text: str = HELP,
    can_link: bool = True,
    opt: str = "exit 9",
    llc: str = "exit 9",
) -> Path:
    """Writes opt, llc and llvm-link, which answer as LLVM's do when asked what they are, and otherwise run a script."""
    for name, said, work in (("opt", version, opt), ("llc", llc_version or version, llc)):
        write_script(
            folder / name,
            f'case "$*" in\n*--version*) echo "  LLVM version {said}" ;;\n'
            f"*-mattr=help*) cat <<'END'\n{help_text}END\n;;\n*) {work}\n;;\nesac",
        )
    if can_link:
        write_script(folder / "llvm-link", "exit 9")
    return folder
