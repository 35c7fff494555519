"""Files of earlier versions are read: tests/golden/versions has one of each."""

import json

import peakline
import pytest
from conftest import ROOT, document_of
from peakline.profile import schema, versions

PROFILE = ROOT / "tests/golden/versions/profile-4.json"
POPULATION = ROOT / "tests/golden/versions/population-1.json"


def test_files_of_each_version_are_read():
    assert peakline.load(PROFILE).duration_s == 117.25
    (population, *_) = peakline.load_populations(POPULATION)
    assert population.facts.model == "2 x NVIDIA H200"


def to_seconds(document):
    minutes = document.pop("duration_min", None)
    if isinstance(minutes, (int, float)):
        document["duration_s"] = minutes * 60


def to_populations(document):
    document["populations"] = document.pop("models")


@pytest.fixture
def trial(monkeypatch):
    """Raises the newest version of a kind by one, with a conversion to it."""

    def raised(kind, conversion):
        version = schema.document(kind)["properties"]["schema_version"]
        monkeypatch.setitem(versions.CONVERSIONS[kind], version["const"], conversion)
        monkeypatch.setitem(version, "const", version["const"] + 1)
        schema._validator.cache_clear()

    yield raised
    schema._validator.cache_clear()


@pytest.mark.parametrize(
    ("version", "changed", "error"),
    [
        (4, {"duration_min": 117.25 / 60}, ""),
        (4, {"duration_min": "two"}, '"duration_s" is missing'),
        (5, {"duration_s": 117.25}, ""),
        (5, {"duration_min": 2}, '"duration_s" is missing'),
        (3, {}, "3 is older than the 4 that this peakline reads: revision a4b10e9 reads it"),
        (6, {}, "6 is newer than the 5 that this peakline reads"),
    ],
)
def test_a_profile_is_converted(trial, version, changed, error):
    wanted = peakline.load(PROFILE)
    trial("profile", to_seconds)
    document = document_of(PROFILE)
    del document["duration_s"]
    text = json.dumps(document | changed | {"schema_version": version})
    if error:
        with pytest.raises(peakline.ProfileError, match=error):
            peakline.loads(text)
    else:
        read = peakline.loads(text)
        assert (read.duration_s, read.schema_version) == (117.25, 5)
        assert (read.devices, read.ceilings) == (wanted.devices, wanted.ceilings)


def test_a_population_is_converted(trial, tmp_path):
    wanted = peakline.load_populations(POPULATION)
    trial("population", to_populations)
    document = document_of(POPULATION)
    document["models"] = document.pop("populations")
    path = tmp_path / "old.json"
    path.write_text(json.dumps(document))
    assert peakline.load_populations(path) == wanted


@pytest.mark.parametrize("kind", ["profile", "population"])
def test_conversions_lead_to_the_newest(kind):
    newest = schema.document(kind)["properties"]["schema_version"]["const"]
    found = sorted(versions.CONVERSIONS[kind])
    assert found == list(range(newest - len(found), newest))
