"""Populations: what is known of a model's healthy GPUs, from the package and from files."""

import json

import jsonschema
import peakline
import pytest
from conftest import ONE_GPU, ROOT, loaded
from peakline.profile import files
from test_profile import check_fields

BUNDLED = sorted((ROOT / "reports/reference/populations").glob("*.json"))
SCHEMA = json.loads((ROOT / "reports/peakline/population.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.name)
def test_bundled_populations_follow_the_schema(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    populations = peakline.load_populations(path)
    assert len(populations) == len(document["populations"]) > 0
    for population, row in zip(populations, document["populations"], strict=True):
        assert (population.mode, population.cards) == (row["mode"], row["cards"])
        assert [f.limit for f in population.figures] == [f["limit"] for f in row["figures"]]
        # The files are called after the model.
        (found,) = (
            p
            for p in peakline.load_populations(
                files.bundled("populations", "population", population.facts.model)
            )
            if p == population
        )
        assert found.facts.model == row["facts"]["model"]


def test_loader_reads_what_the_schema_has():
    rows = SCHEMA["properties"]["populations"]["items"]
    check_fields(rows, peakline.Population)


def test_the_figures_of_a_model(profile):
    population = peakline.reference("h200").population
    assert population == profile.population == peakline.population("NVIDIA H200", "full")
    assert (population.facts.model, population.mode) == ("NVIDIA H200", "full")
    figure = population.figure("tensor.bf16", "burst")
    assert (figure.unit, figure.runs >= figure.cards > 10) == ("FLOP/s", True)
    # It lies 3 % and more below the median.
    assert 0.9 < population.limit("tensor.bf16", "burst") / figure.median <= 0.97
    assert population.limit("tensor.bf16", "burst") == figure.limit
    beside = population.figure("tensor.bf16", "burst", beside_siblings=True)
    assert (beside.unit, beside.median < 2) == ("1", True)
    assert peakline.population("h200", "quick").mode == "quick"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda p: p.limit("tensor.bf16", "model_shaped"),
            r"no model_shaped figure for tensor.bf16 in .* it",
        ),
        (lambda p: p.figure("nothing", "burst"), r"no burst figure for nothing .* it has hbm.read"),
        (
            lambda p: p.figure("hbm.read", "measured", beside_siblings=True),
            r"for hbm.read beside its siblings in the popul",
        ),
        (
            lambda p: peakline.population("h200", "slow"),
            r"nvidia-h200.json has no population of slow runs;",
        ),
    ],
)
def test_figures_that_there_are_not(ask, message):
    with pytest.raises(peakline.PeakError, match=message):
        ask(peakline.population("h200", "quick"))


def test_models_of_which_nothing_is_known(document):
    with pytest.raises(peakline.ProfileError, match=r"^no population of 'x100'; there is: .*h200"):
        peakline.population("x100", "quick")
    document["devices"][0]["name"] = "NVIDIA X100"
    with pytest.raises(peakline.ProfileError, match="no population of 'NVIDIA X100'"):
        _ = loaded(document).population


def test_a_file_of_several_models(tmp_path):
    document = json.loads((BUNDLED[0].parent / "nvidia-h200.json").read_text(encoding="utf-8"))
    others = json.loads(json.dumps(document["populations"]).replace("NVIDIA H200", "NVIDIA X100"))
    document["populations"] += others
    path = tmp_path / "ours.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert len(peakline.load_populations(path)) == 4
    one = peakline.load_population(path, "quick", model="NVIDIA X100")
    assert (one.facts.model, one.mode) == ("NVIDIA X100", "quick")
    with pytest.raises(
        peakline.PeakError, match=r"ours.json has 2 populations of quick runs; .*X100"
    ):
        peakline.load_population(path, "quick")
    with pytest.raises(peakline.PeakError, match=r"no population of full runs of NVIDIA A100"):
        peakline.load_population(path, "full", model="NVIDIA A100")


def test_what_is_no_population(tmp_path):
    with pytest.raises(peakline.ProfileError, match=r"missing.json: cannot be read: No such file"):
        peakline.load_populations(tmp_path / "missing.json")
    wrong = r'nvidia-h200.json: schema: expected "peakline-population", found "peakline-profile"'
    with pytest.raises(peakline.ProfileError, match=wrong):
        peakline.load_populations(ONE_GPU)
    for text, message in (("[1]", "expected an object"), ("{}", '"schema" is missing')):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(peakline.ProfileError, match=f"x.json: {message}"):
            peakline.load_populations(tmp_path / "x.json")
