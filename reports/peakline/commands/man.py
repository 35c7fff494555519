"""Manual pages of the Python commands, from their parsers: python -m peakline man report."""

import argparse
import re
from collections.abc import Iterator, Sequence

from peakline.commands.arguments import Parser
from peakline.commands.llm import llm_parser
from peakline.commands.mfu_options import export_parser, mfu_parser
from peakline.commands.report import report_parser
from peakline.commands.terminal import show

PARSERS = {
    "report": report_parser,
    "mfu": mfu_parser,
    "mfu export": export_parser,
    "llm": llm_parser,
}
PAGES = tuple(command for command in PARSERS if " " not in command)


def _literal(text: str) -> str:
    """Text for roff; escaped hyphens can be copied into a shell."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def _words(action: argparse.Action) -> str:
    """ "-o,--output DIR", "--strategy {ddp,fsdp}", "PROFILE..."."""
    value = action.metavar or (action.choices and "{" + ",".join(action.choices) + "}")
    shown = "" if action.nargs == 0 else str(value or action.dest.upper())
    shown += "..." * (action.nargs == "+")
    return " ".join(filter(None, (",".join(action.option_strings), shown)))


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        text = (action.help or "") % {**vars(action), "prog": parser.prog}
        yield f".TP\n.B {_literal(_words(action))}\n{_literal(text)}\n"


def _end(text: str) -> Iterator[str]:
    """What the help says below the options; indented lines are as typed, or explain a word."""
    for line in filter(None, text.splitlines()):
        if word := re.fullmatch(r"  (\w+): (.*)", line):
            yield f".TP\n.B {_literal(word[1])}\n{_literal(word[2])}\n"
        elif line.startswith(" "):
            yield f".nf\n{_literal(line)}\n.fi\n"
        else:
            yield f".PP\n{_literal(line)}\n"


def manual(command: str) -> str:
    """The page of peakline-COMMAND, with the sections of the page that `peakline man` prints."""
    program = f"peakline-{command}"
    parser = PARSERS[command](program)
    parts = [
        f'.TH {_literal(program.upper())} 1 "" peakline\n',
        f".SH NAME\n{_literal(program)} \\- {_literal(parser.description or '')}\n",
        f".SH SYNOPSIS\n.B {_literal(program)}\n[OPTION]...\n.SH OPTIONS\n",
        *_options(parser),
    ]
    within = [each for each in PARSERS if each.startswith(f"{command} ")]
    parts += [".SH COMMANDS\n"] * bool(within)
    for each in within:
        sub = PARSERS[each](program)
        parts += [f".SS {each.split()[1]}\n{_literal(sub.description or '')}\n", *_options(sub)]
    if parser.epilog:
        parts += [".SH EXAMPLES AND MORE\n", *_end(parser.epilog)]
    return "".join(parts)


def main(arguments: Sequence[str], program: str) -> int:
    """Prints a page; returns the exit code."""
    parser = Parser(prog=program, description="Prints the manual page of a Python command.")
    parser.add_argument("command", choices=PAGES)
    show(manual(parser.parse_args(arguments).command).splitlines())
    return 0
