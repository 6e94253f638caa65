"""`bin/mailfold`: one entry point for what a person does with a stack."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from cli import dead_letters, doctor, erase, messages, prune, refold, replay, secrets, suppressions, tokens
from cli.errors import DONE, UNUSABLE, CommandError
from cli.place import STACK, Place, aws_place, is_local, local_place
from cli.show import plain
from cli.verify_request import command as verify_request

EXIT_CODES = """exit codes: 0 done; 1 something was found to be wrong or is left over;
2 the command is wrong or no stack can be reached; 3 the stack declined, and nothing was changed"""

#: Each adds its commands to the parser.
PARTS = (messages, doctor, secrets, dead_letters, replay, refold, prune, suppressions, erase, tokens)


class CommandParser(argparse.ArgumentParser):
    """The parser of a command: what may stand before the command may stand behind it as well."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Without a default, so that what stands before the command is not undone.
        _add_common(self, argparse.SUPPRESS, argparse.SUPPRESS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["verify-request"]:
        # Works offline, and has a parser of its own.
        return verify_request.main(given[1:])
    arguments = _parser().parse_args(given)
    try:
        return _run(arguments)
    except CommandError as refusal:
        return _say(str(refusal), refusal.code)
    except (BotoCoreError, ClientError) as exc:
        return _say(f"AWS did not do it: {exc}", UNUSABLE)
    except KeyboardInterrupt:
        return _say("stopped", UNUSABLE)
    except BrokenPipeError:
        # Whoever read this has seen enough; the interpreter must not complain about it at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _run(arguments: argparse.Namespace) -> int:
    place = None if getattr(arguments, "offline", False) else _place(arguments)
    code: int = arguments.run(arguments, place)
    sys.stdout.flush()
    return code


def _say(sentence: str, code: int) -> int:
    print(f"mailfold: {plain(sentence)}", file=sys.stderr)
    return code


def _place(arguments: argparse.Namespace) -> Place:
    if arguments.local and arguments.profile:
        raise CommandError("--local and --profile name two places: leave one of them out")
    if arguments.local or is_local(arguments.profile):
        return local_place()
    return aws_place(profile=arguments.profile, region=arguments.region, stack=arguments.stack)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mailfold", description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    _add_common(parser, False, None)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    commands.add_parser("verify-request", help="say offline why a captured request is refused", add_help=False)
    for part in PARTS:
        part.add_parsers(commands)
    return parser


def _add_common(parser: argparse.ArgumentParser, off: Any, none: Any) -> None:
    common = parser.add_argument_group("for every command")
    common.add_argument("--json", action="store_true", default=off, help="print JSON")
    common.add_argument("--local", action="store_true", default=off, help="the local stack, whatever AWS_PROFILE says")
    common.add_argument(
        "--profile", default=none, help="the AWS profile; without one (and without AWS_PROFILE) the local stack"
    )
    common.add_argument("--region", default=none, help="the AWS region, where the profile names none")
    common.add_argument("--stack", default=none or STACK, help=f"the name of the CloudFormation stack ({STACK})")


if __name__ == "__main__":
    sys.exit(main())
