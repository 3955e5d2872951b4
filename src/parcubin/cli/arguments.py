"""Commands as functions: their annotations say what the command line takes.

argparse does the work. It takes 0.01 s to import; typer, which this follows, takes 0.08 s, and as much again when a
command runs (our measurement).
"""

from __future__ import annotations

import argparse
import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Argument:
    """A positional argument; a list takes one or more. A literal type lists the choices.

    Attributes:
        metavar: what the help calls it.
        help: one sentence.
    """

    metavar: str
    help: str


class Option:
    """An option. Of a truth value it is a flag; `--no-` switches off one that is on by default. A literal type lists
    the choices."""

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002
        metavar: str | None = None,
        min: int | None = None,  # noqa: A002
        max: int | None = None,  # noqa: A002
        count: bool = False,
    ) -> None:
        """Declares an option.

        Args:
            names: `--long` and `-s`; by default the parameter's name.
            help: one sentence.
            metavar: what the help calls the value.
            min: the least number.
            max: the greatest number.
            count: the number is how often the option is given.
        """
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max
        self.count = count


def run_command(command: Callable[..., None], name: str, arguments: Sequence[str]) -> None:
    """Runs a command with what a command line says.

    Raises:
        SystemExit: with status 2 when the command line is wrong, 0 after `--help`.
    """
    if "--" in arguments:  # what follows are names of files, which argparse would take for options all the same
        end = arguments.index("--")
        files = [f"./{file}" if file.startswith("-") else file for file in arguments[end + 1 :]]
        arguments = [*arguments[:end], *files]
    command(**vars(parser_of(command, name).parse_intermixed_args(arguments)))


def parser_of(command: Callable[..., None], name: str) -> argparse.ArgumentParser:
    """The parser for a command; `name` is what usage messages call it."""
    parser = argparse.ArgumentParser(
        prog=name,
        description=inspect.getdoc(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    hints = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        assert get_origin(hint) is Annotated
        kind, declared = get_args(hint)
        if isinstance(declared, Argument):
            several = get_origin(kind) is list
            settings: dict[str, Any] = {"type": get_args(kind)[0] if several else kind}
            if get_origin(kind) is Literal:
                settings = {"choices": get_args(kind)}
            parser.add_argument(
                parameter.name,
                metavar=declared.metavar,
                help=declared.help,
                nargs="+" if several else None,
                **settings,
            )
        else:
            _add_option(parser, parameter, _without_none(kind), declared)
    return parser


def _add_option(parser: argparse.ArgumentParser, parameter: inspect.Parameter, kind: Any, declared: Option) -> None:
    settings: dict[str, Any] = {"dest": parameter.name, "help": declared.help}
    if parameter.default is inspect.Parameter.empty:
        settings["required"] = True
    else:
        settings["default"] = parameter.default
    names = declared.names or ("--" + parameter.name.replace("_", "-"),)
    if kind is bool and parameter.default is True:
        parser.add_argument(*names, action=argparse.BooleanOptionalAction, **settings)
    elif kind is bool:
        parser.add_argument(*names, action="store_true", **settings)
    elif declared.count:
        parser.add_argument(*names, action="count", **settings)
    elif get_origin(kind) is Literal:
        parser.add_argument(*names, choices=get_args(kind), **settings)
    else:
        limited = declared.min is not None or declared.max is not None
        convert = _between(kind, declared.min, declared.max) if limited else kind
        parser.add_argument(*names, type=convert, metavar=declared.metavar, **settings)


def _without_none(kind: Any) -> Any:
    """`X` of `X | None`."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(part for part in get_args(kind) if part is not type(None))
    return kind


def _between(kind: type[int], least: int | None, most: int | None) -> Callable[[str], int]:
    def convert(text: str) -> int:
        value = kind(text)
        if (least is not None and value < least) or (most is not None and value > most):
            limits = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
            raise argparse.ArgumentTypeError(f"it is {' and '.join(limits)}")
        return value

    convert.__name__ = kind.__name__  # for argparse's message
    return convert
