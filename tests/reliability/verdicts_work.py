"""What a process does to a file of verdicts until it is killed: every step follows from its number alone.

    python -m tests.reliability.verdicts_work FILE FIRST

stores verdicts from step FIRST on, and writes the number of each step once it is acknowledged.
"""

from __future__ import annotations

import os
import random
import sys

from twinset.verdicts import Content, Draft, VerdictStore

CONTENTS = [Content(bytes([number]) * 16, f"d{number}") for number in range(1, 30)]
NOTES = ("", "a note", "汉字 🙂\nsecond line", "x" * 3000)


def step(store: VerdictStore, number: int) -> None:
    """Do step `number`: a verdict, a step of several verdicts, a principal, undo or redo."""
    dice = random.Random(number)
    who, kind = dice.choice(("Ann", "Bob")), dice.randrange(6)
    left, *others = dice.sample(CONTENTS, dice.choice((2, 6, 12)))
    note = dice.choice(NOTES)
    if kind == 0:
        store.take_out(left, others, who=who, note=note)
    elif kind == 1:
        store.name_principal(left, who=who, instead_of=others)
    elif kind == 2:
        (store.undo if dice.random() < 0.7 else store.redo)(who=who)
    else:
        verdict = dice.choice(("duplicate", "different", "unsure", "undecided"))
        store.judge_all([Draft(verdict, left, others[0], note)], who=who)


def main(path: str, first: int) -> None:
    """Work until killed; one write for each acknowledged step."""
    with VerdictStore(path, basis="text") as store:
        for number in range(first, 10**9):
            step(store, number)
            os.write(1, b"%d\n" % number)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
