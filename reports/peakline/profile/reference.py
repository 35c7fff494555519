"""The profiles that come with the package, measured on real devices."""

from __future__ import annotations

from pathlib import Path

from peakline.profile.errors import ProfileError, shown_text
from peakline.profile.profile import Profile
from peakline.profile.reader import load

FOLDER = Path(__file__).parents[1] / "reference_profiles"
VENDOR = "nvidia-"  # of the files' names; callers may leave it out


def reference(model: str) -> Profile:
    """The reference profile of a GPU, `reference("h200")`, or of a node of two, `"h200-x2"`.

    Raises ProfileError, naming all.
    """
    paths = {path.stem: path for path in FOLDER.glob("*.json")}
    files = {stem.removeprefix(VENDOR): paths[stem] for stem in sorted(paths)}
    path = files.get(model.lower().removeprefix(VENDOR))
    if path is None:
        raise ProfileError(
            f"no reference profile of {shown_text(model)!r}; there is: {', '.join(files)}"
        )
    return load(path)
