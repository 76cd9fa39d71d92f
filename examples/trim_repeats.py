"""Cut repeated passages and repeated lines out of documents; the first copy stays."""

import twinset

FOOTER = "This mailbox is not read. Write to the front desk instead, which is open from nine to five."
MAILS = {
    "monday": f"The new road opens in May.\n{FOOTER}",
    "tuesday": f"An umbrella was found on the late bus.\n{FOOTER}",
    "wednesday": f"Somebody wrote: this mailbox is not read, write to the front desk instead!\n{FOOTER}",
}


def main() -> None:
    """Cut runs of eight words, then whole lines."""
    done = twinset.trim(MAILS, least=8)
    print(done)
    for row in done.cuts.to_pylist():
        cut = MAILS[row["id"]][row["start"] : row["end"]]
        print(f"{row['id']}: {cut!r} was cut, it is also in {row['because_of']}")
    again = twinset.trim(done.kept, least=8)
    assert again.summary["words_cut"] == 0, "a second run finds nothing: no passage crosses a cut"

    lines = twinset.trim(MAILS, unit="line")
    for text in lines.kept["text"].to_pylist():
        print(text.splitlines())
    summary = lines.summary
    assert summary["words"] == summary["words_kept"] + summary["words_cut"]


if __name__ == "__main__":
    main()
