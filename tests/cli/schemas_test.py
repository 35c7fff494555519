"""Documents follow the schemas that `peakline schema` prints, and nothing else does."""

from __future__ import annotations

import copy
import json
import shlex

import pytest
from program import of_package, peakline, refused, stdout_of
from schemas import FILES, checked, validator

fastjsonschema = pytest.importorskip("fastjsonschema")
jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("matplotlib")

REPORT = "peakline-report node7.json"
MFU = "peakline-mfu --profile node7.json --dtype bf16"
QWEN = "--hf-config Qwen3-8B/"
# Commands whose --json prints a document of the kind, in the folder of `peakline demo`.
COMMANDS = [
    ("summary", "peakline show storage.json"),
    ("summary", "peakline show node7.json"),
    ("summary", "peakline show two-gpus.json"),
    ("check", "peakline check node7.json"),
    ("check", "peakline check profiles/ --rules rules.toml --gpus 2"),
    ("check", "peakline check storage.json"),
    ("comparison", "peakline compare node7.json -- node8.json"),
    ("comparison", "peakline compare profiles/ -- profiles/"),
    ("fleet", "peakline fleet profiles/"),
    ("fleet", "peakline fleet node7.json node8.json profiles/ two-gpus.json storage.json"),
    ("repeatability", "peakline repeatability node7.json again.json"),
    ("catalog", "peakline list"),
    ("peaks", "peakline peaks H100"),
    ("peaks", "peakline peaks"),
    ("kernels", f"{REPORT} --kernels kernels.csv"),
    ("trace", f"{REPORT} --trace trace.json.gz"),
    ("trace", "peakline-report two-gpus.json --trace rank0.json.gz rank1.json.gz"),
    ("change", f"{REPORT} --trace trace.json.gz --against trace.json.gz"),
    ("input", "peakline-report storage.json --bytes-per-sample 150kB --samples-per-s 3000"),
    ("mfu", f"{MFU} --mfu 40"),
    ("mfu", f"{MFU} --intensity 40"),
    ("mfu", f"{MFU} --tokens-per-second 9000 --flops-per-token 5e10"),
    (
        "mfu",
        f"{MFU} {QWEN} --sequence 4096 --tokens-per-second 9000 --intensity 40 --recompute full "
        "--tokens-per-step 500000",
    ),
    ("llm", f"peakline-llm --profile node7.json {QWEN}"),
    (
        "llm",
        f"peakline-llm --profile two-gpus.json {QWEN} --tp 2 --batch 8 --context 1k "
        "--tokens-per-second 900",
    ),
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "try"
    peakline("demo", folder, code=0)
    text = (folder / "node7.json").read_text()
    created = json.loads(text)["created"]
    (folder / "again.json").write_text(text.replace(created, "2026-11-30T12:00:00Z"))
    return folder


@pytest.fixture(scope="module")
def printed(demo):
    """The documents, by kind and command."""
    found = {}
    for kind, line in COMMANDS:
        name, *arguments = shlex.split(line)
        run = peakline if name == "peakline" else of_package(name)
        found[kind, line] = json.loads(run(*arguments, "--json", cwd=demo).stdout)
    return found


def small(value):
    """The value with only the first element of each array."""
    if isinstance(value, dict):
        return {key: small(inner) for key, inner in value.items()}
    return [small(inner) for inner in value[:1]] if isinstance(value, list) else value


def mutants(value, put):
    """Calls `put` with each value in it replaced, and with another key in each object."""
    wrong = [[]]  # no document has an array in an array here
    if isinstance(value, dict):
        yield "another key", put(value | {"another": wrong})
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        holder = dict(value) if isinstance(value, dict) else list(value)

        def within(new, holder=holder, key=key):
            holder = copy.copy(holder)
            holder[key] = new
            return put(holder)

        yield str(key), within(wrong)
        if isinstance(inner, (dict, list)):
            yield from mutants(inner, within)


def test_every_kind_of_document_is_tried():
    elsewhere = {"profile", "population", "probe"}  # no command prints the last
    assert {kind for kind, _ in COMMANDS} | elsewhere == set(FILES)


def test_documents_follow_their_schemas(printed, subtests):
    for (kind, line), document in printed.items():
        with subtests.test(line):
            assert list(document)[:2] == ["schema", "schema_version"]
            assert document["schema"] == f"peakline-{kind}"
            checked(document)


def follows(kind, document):
    try:
        validator(kind)(document)
    except fastjsonschema.JsonSchemaException:
        return False
    return True


def test_missing_and_other_keys_are_refused(printed, subtests):
    for (kind, line), document in printed.items():
        tried = small(document)
        assert follows(kind, tried)
        with subtests.test(line):
            rest = {key: {k: tried[k] for k in tried if k != key} for key in tried}
            assert [key for key, mutant in rest.items() if follows(kind, mutant)] == []
            found = mutants(tried, lambda new: new)
            assert [what for what, mutant in found if follows(kind, mutant)] == []


@pytest.mark.parametrize("kind", FILES)
def test_the_program_prints_the_schema(kind):
    text = stdout_of("schema", kind)
    assert text == FILES[kind].read_text()
    schema = json.loads(text)
    jsonschema.Draft7Validator.check_schema(schema)
    version = schema.get("oneOf", [schema])[0]["properties"]["schema_version"]
    assert schema["$id"] == f"urn:peakline:{kind}:{version['const']}"


def test_an_unknown_kind_lists_all():
    assert stdout_of("schema") == stdout_of("schema", "profile")
    refused("schema", "rain", words=["KIND", *FILES])
    assert all(kind in stdout_of("schema", "--help") for kind in FILES)
