"""Make SimHash codes of texts, eight bytes per document, and compare them by the bits in which they differ."""

import twinset
from twinset.plan.codes import plan_codes

SHINGLE, COSINE = "word:2", 0.9


def main() -> None:
    """Make codes, find pairs within the planned distance, and compare their texts."""
    made = twinset.sketch(
        "news.jsonl", sketch="simhash", shingle=SHINGLE, bits=128, output="news-codes.parquet", force=True
    )
    print(made)
    print("without a code, for they are empty:", ", ".join(made.summary["named"]["empty"]))

    chosen = plan_codes(COSINE, recall=0.95, bits=128)
    print(chosen)
    exact = twinset.find_pairs("news.jsonl", shingle=SHINGLE, threshold=0.01, exact=True).pairs.to_pylist()
    known = {(row["left"], row["right"]): row["similarity"] for row in exact}
    for row in twinset.find_pairs("news-codes.parquet", codes="code", distance=chosen.distance).pairs.to_pylist():
        cosine = made.estimate(row["left"], row["right"])
        print(
            f"{row['left']} and {row['right']}: {row['distance']} bits apart, so their cosine is about "
            f"{cosine.similarity:.2f} ± {cosine.standard_error:.2f}; their Jaccard similarity is "
            f"{known[row['left'], row['right']]:.2f}"
        )


if __name__ == "__main__":
    main()
