"""Clean a data set of Hugging Face, splits included, and describe what was done for its card."""

import datasets

import twinset

ROSE = "a rose is a rose is a rose in any garden of the town"
TEXTS = {
    "train": [ROSE, "the ferry will run again from Monday", f"{ROSE} hall", "half the price from seven"],
    "test": [f"{ROSE}!", "a text that is nowhere else"],
}
LABELS = datasets.ClassLabel(names=["prose", "verse"])


def main() -> None:
    """Remove near-duplicates within and across the splits; the first one is kept, so none of train is lost to test."""
    features = datasets.Features({"text": datasets.Value("string"), "label": LABELS})
    data = datasets.DatasetDict(
        {
            name: datasets.Dataset.from_dict({"text": texts, "label": [0] * len(texts)}, features=features)
            for name, texts in TEXTS.items()
        }
    )
    done = twinset.dedup(data, shingle="word:3")
    for name, split in done.kept.items():
        print(f"{name}: {len(split)} of {len(data[name])} rows kept, label is {split.features['label']}")
    print(done.card())


if __name__ == "__main__":
    main()
