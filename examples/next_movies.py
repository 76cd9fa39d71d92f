"""Keep the ratings of users in an index, and suggest movies to a new user: what the most similar users rated highest.

Usage: python next_movies.py [TABLE]      a .csv, .parquet, … with the columns user, movie and rating
"""

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import twinset

NEW = {"Ran": 4.5, "Alien": 5, "Stalker": 4}  # what the new user has rated so far


def main(table: Path) -> None:
    """Print the three nearest users, and the movies that they suggest."""
    with (
        tempfile.TemporaryDirectory() as folder,
        twinset.Index.create(f"{folder}/users.twinset", group="user", item="movie", weight="rating") as index,
    ):
        index.add(table)
        nearest = index.query(NEW, k=3).to_pylist()
        votes: dict[str, float] = defaultdict(float)
        for user, ratings in zip(nearest, index.texts([one["id"] for one in nearest]), strict=True):
            print(f"{user['id']} is {user['similarity']:.2f} similar")
            for movie, rating in json.loads(ratings).items():
                votes[movie] += user["similarity"] * rating
    unseen = sorted(votes.keys() - NEW.keys(), key=lambda movie: -votes[movie])
    print(f"suggested: {', '.join(unseen[:3])}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("ratings.csv"))
