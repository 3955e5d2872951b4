"""Runs several copies of a command at once: `python -m benchmarks.at_once N COMMAND...`, where `{copy}` in an argument
is the copy's number."""

from __future__ import annotations

import subprocess
import sys


def main() -> None:
    count, command = int(sys.argv[1]), sys.argv[2:]
    copies = [
        subprocess.Popen([argument.replace("{copy}", str(copy)) for argument in command]) for copy in range(count)
    ]
    sys.exit(max(abs(copy.wait()) for copy in copies))


if __name__ == "__main__":
    main()
