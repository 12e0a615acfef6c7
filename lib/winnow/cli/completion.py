"""`winnow completion bash`: the words of all commands, for a shell; `source <(winnow completion bash)` takes them."""

import argparse
import importlib

from winnow.cli.commands import COMMANDS, Parser, add_output_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(args: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(whole_parser(), args.shell))
    return 0


def whole_parser() -> Parser:
    """Returns one parser of all commands; reading a call needs that of one command only."""
    parser = Parser(prog="winnow")
    parser.add_argument("--version", action="store_true")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        own = commands.add_parser(name, help=command.what)
        importlib.import_module(command.module).add_arguments(own)
        add_output_arguments(own)
    return parser
