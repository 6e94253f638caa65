"""`bin/mailfold`: one entry point for what a person does with a stack."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from cli import messages, tokens
from cli.errors import UNUSABLE, CommandError
from cli.place import STACK, Place, aws_place, is_local, local_place
from mailfold import verify_request

EXIT_CODES = """exit codes: 0 done; 1 something was found to be wrong or is left over;
2 the command is wrong or no stack can be reached; 3 the stack declined, and nothing was changed"""

#: Each adds its commands to the parser.
PARTS = (messages, tokens)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["verify-request"]:
        # Works offline, and has a parser of its own.
        return verify_request.main(given[1:])
    arguments = _parser().parse_args(given)
    try:
        place = None if getattr(arguments, "offline", False) else _place(arguments)
        code: int = arguments.run(arguments, place)
    except CommandError as refusal:
        print(f"mailfold: {refusal}", file=sys.stderr)
        return refusal.code
    except KeyboardInterrupt:
        print("mailfold: stopped", file=sys.stderr)
        return UNUSABLE
    return code


def _place(arguments: argparse.Namespace) -> Place:
    if arguments.local or is_local(arguments.profile):
        return local_place()
    return aws_place(profile=arguments.profile, region=arguments.region, stack=arguments.stack)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mailfold", description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--profile", help="the AWS profile; without one (and without AWS_PROFILE) the local stack")
    parser.add_argument("--region", help="the AWS region, where the profile names none")
    parser.add_argument("--stack", default=STACK, help=f"the name of the CloudFormation stack ({STACK})")
    parser.add_argument("--local", action="store_true", help="the local stack, whatever AWS_PROFILE says")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("verify-request", help="say offline why a captured request is refused", add_help=False)
    for part in PARTS:
        part.add_parsers(commands)
    _take_json_everywhere(commands)
    return parser


def _take_json_everywhere(commands: Any) -> None:
    """Let --json stand behind a command as well as before it."""
    for parser in commands.choices.values():
        parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                _take_json_everywhere(action)


if __name__ == "__main__":
    sys.exit(main())
