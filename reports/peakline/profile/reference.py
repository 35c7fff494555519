"""The profiles that come with the package, measured on real devices."""

from __future__ import annotations

from peakline.profile import files
from peakline.profile.profile import Profile
from peakline.profile.reader import load


def reference(model: str) -> Profile:
    """The reference profile of a GPU, `reference("h200")`, or of a node of two, `"h200-x2"`.

    Raises ProfileError, naming all.
    """
    return load(files.bundled("", "reference profile", model))
