"""The command `stepgp`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status: 0, or 1 with one line on stderr that says what is wrong."""
    chosen = _parser().parse_args(arguments)
    try:
        _paper(chosen)
    except FileNotFoundError as error:
        print(f"stepgp: {error}", file=sys.stderr)
        return 1
    return 0


def _paper(chosen: argparse.Namespace) -> None:
    from stepgp.paper import MODELS, NAMES, cross_validate, load
    from stepgp.paper.experiment import N_FOLDS
    from stepgp.paper.tables import header, row

    print("Held-out, ten folds without shuffling, targets of regression standardised; of a model")
    print("that the paper lacks, `published` is the column of the best log-likelihood.\n")
    print(header())
    for name in chosen.sets or NAMES:
        data = load(name, chosen.data)
        for model in chosen.model or MODELS:
            n_folds = 2 if chosen.quick else N_FOLDS
            scores = cross_validate(MODELS[model], data, n_folds=n_folds)
            if scores is not None:
                print(row(name, model, scores), flush=True)


def _parser() -> argparse.ArgumentParser:
    from stepgp.paper import MODELS, NAMES

    parser = argparse.ArgumentParser(prog="stepgp", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "; ".join(f"{model.name}: {model.about}" for model in MODELS.values())
    paper = commands.add_parser(
        "paper",
        help="the paper's tables beside ours",
        epilog="Example: stepgp paper --data FOLDER --model stepgp --sets heart cancer",
    )
    paper.add_argument("--data", help="folder with the CSV files; or set STEPGP_DATA")
    paper.add_argument("--model", nargs="+", choices=MODELS, metavar="MODEL", help=about)
    paper.add_argument("--sets", nargs="+", choices=NAMES, metavar="SET", help=", ".join(NAMES))
    paper.add_argument("--quick", action="store_true", help="two folds instead of ten")
    return parser


if __name__ == "__main__":
    sys.exit(main())
