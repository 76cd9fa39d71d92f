"""Images that scikit-learn brings along, as vectors: 1,797 digits of 8 × 8, and patches of its two photographs.

A patch is 16 × 16 pixels, halved, less its mean and at length 1, as descriptors of images are; flat ones are left out.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_sample_images

SIDE, STEP = 16, 9
CONTRAST = 8  # of 255: the least standard deviation of a patch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("digits", type=Path)
    parser.add_argument("patches", type=Path)
    arguments = parser.parse_args()
    digits = load_digits().data.astype(np.float32)
    patches = []
    for image in load_sample_images().images:
        grey = image.mean(axis=2)
        for top in range(0, grey.shape[0] - SIDE, STEP):
            for left in range(0, grey.shape[1] - SIDE, STEP):
                patch = grey[top : top + SIDE, left : left + SIDE]
                small = patch.reshape(SIDE // 2, 2, SIDE // 2, 2).mean(axis=(1, 3)).ravel()
                small = small - small.mean()
                if small.std() > CONTRAST:
                    patches.append(small / np.linalg.norm(small))
    with arguments.digits.open("wb") as file:
        np.save(file, digits)
    with arguments.patches.open("wb") as file:
        np.save(file, np.array(patches, np.float32))
    print(json.dumps({"digits": len(digits), "patches": len(patches)}))


if __name__ == "__main__":
    main()
