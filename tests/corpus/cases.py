"""What every reader of profiles and populations is tested with: some, and what only looks so."""

import copy
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "profile.json"


@dataclass(frozen=True)
class Case:
    """A file, and whether each reader must refuse it."""

    name: str
    data: bytes
    refused: bool = False
    schema: bool | None = None  # the schema alone refuses it; None: it is no matter for a schema


_BASE = json.loads(GOLDEN.read_text(encoding="utf-8"))
_MISSING = object()


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def _twins(*params: dict[str, Any]) -> list[Any]:
    """The first measurement once for each of `params`."""
    return [{**_BASE["measurements"][0], "params": own} for own in params]


def _picture(**panel: Any) -> dict[str, Any]:
    """A picture of one panel, which has these keys instead of the usual ones."""
    drawn: dict[str, Any] = {
        "kind": "lines",
        "over": "bytes",
        "x": {"label": "bytes", "written": "size", "scale": "log2"},
        "y": {"label": "GB/s", "per": 1e9, "low": -1},
        "series": [{"label": "read", "numbers": {"id": "hbm.read", "where": {"width": 16}}}],
        "marks": [{"label": "held", "upright": True, "figure": {"id": "a", "figure": "held"}}],
    }
    return {"key": "a-1", "subject": "A", "how": "", "panels": [{**drawn, **panel}]}


# Way to what is changed in the golden profile, new value: still a profile.
_GOOD: tuple[tuple[str, Any], ...] = (
    ("created", "2028-02-29T00:00:00Z"),
    ("created", "2000-02-29T23:59:59Z"),
    ("asked", _MISSING),
    ("asked", {"verify": False}),
    ("mode", "full"),
    ("schema_version", 4.0),
    ("later", {"x": [None, {}]}),
    ("measurements.0.later", 0.999e-30),
    ("devices.0.sm_count", 132.0),
    ("duration_s", -0.0),
    ("measurements.0.conditions.temperature_c", -12.5),
    ("measurements", []),
    ("measurements", _twins({"a": 1, "b": 2}, {"b": 2, "a": 1})),
    ("measurements", _twins({"a": 1}, {"a": 2.0})),
    ("ceilings", []),
    ("measurements.0.conditions.utilization", 0),
    ("measurements.0.value", 0),
    ("measurements.0.samples_s", []),
    ("measurements.5.launch", _MISSING),
    ("measurements.5.launch", {"x": "y" * 2000}),
    ("measurements.6.conditions", _MISSING),
    # No such keys are known.
    ("measurement_defaults", {"unit": 3}),
    ("measurements.5.points", [{}]),
    ("measurements.5.launch", {"x": "y" * 850}),
    ("measurements.0.samples_s", [1e-4] * 64),
    ("measurements.0.samples_s", [1e30]),
    ("measurements.0.samples_s", [1e-30]),
    ("measurements.0.launch.grid", -(2**63)),
    ("measurements.0.launch.grid", 2**63 - 1),
    ("devices.0.xids", [2**63 - 1]),
    ("devices.0.after.temperature_margin_c", -273.5),
    ("devices.0.after.nvlinks.0.symbol_ber", 0),
    ("devices.0.after.nvlinks", [{"link": 3}]),
    ("measurements.1.samples_s", []),
    ("measurements.0.sittings", [[7]]),
    ("measurements.0.sittings", [[3, 2], [2]]),
    ("ceilings.1.spread", _MISSING),
    ("ceilings.2.spread.sittings", _MISSING),
    ("measurements.2.series.power_w", [None, None, 1.5]),
    ("findings.0.device", ""),
    ("findings.0.device", "host"),
    ("ceilings.1.ci_low", _MISSING),
    ("later", _nested(31)),
    ("later", {str(i): i for i in range(4096)}),
    ("host.hostname", "a\x00\x1b[2J\x7f\x9b\u202e"),
    ("software.environment", {"🙂": "🙂"}),
    ("resources", _MISSING),
    ("memory_map", _MISSING),
    ("memory_map.0.per_sm", _MISSING),
    ("memory_map.1.near_bytes", _MISSING),
    ("curves.0.title", _MISSING),
    ("curves.0.figures", _MISSING),
    ("curves.0.figures.0.value", -1e30),
    ("curves.0.figures.0.by", {"a": -(2**63), "b": ""}),
    ("curves.0.picture", _picture()),
    ("curves.0.picture", {**_picture(), "panels": []}),
)

# Refused.
_BAD: tuple[tuple[str, Any], ...] = (
    ("schema", "other"),
    ("schema", _MISSING),
    ("schema_version", 0),
    ("schema_version", 5),
    ("schema_version", 3),
    ("schema_version", 2.0),
    ("schema_version", 1),
    ("schema_version", "2"),
    ("schema_version", 1.5),
    ("schema_version", True),
    ("host", _MISSING),
    ("created", _MISSING),
    ("created", "2026-11-20T20:17:00+01:00"),
    ("created", "2026-11-20T20:17:00Z\n"),
    ("created", "2026-13-20T20:17:00Z"),
    ("created", "2026-11-32T20:17:00Z"),
    ("created", "2026-11-20T24:17:00Z"),
    ("created", "2026-02-30T20:17:00Z"),
    ("created", "2026-02-29T20:17:00Z"),
    ("created", "2100-02-29T20:17:00Z"),
    ("created", "2026-11-31T20:17:00Z"),
    ("created", "٢٠٢٦-11-20T20:17:00Z"),
    ("mode", "slow"),
    ("complete", 0),
    ("duration_s", -1),
    ("duration_s", True),
    ("command", "peakline run"),
    ("command", [1]),
    ("asked.verify", _MISSING),
    ("asked.verify", 1),
    ("asked.filter", None),
    ("asked.devices", [0]),
    ("host", []),
    ("host.sockets", None),
    ("host.sockets", 1.5),
    ("host.sockets", -1),
    ("host.sockets", 2**31),
    ("host.sockets", 3e9),
    ("host.memory_bytes", -1),
    ("host.caches.0.level", _MISSING),
    ("software.environment", {"A": 1}),
    ("devices.0.uuid", _MISSING),
    ("devices.1.uuid", ""),
    ("devices.0.sm_count", "132"),
    ("devices.0.sm_count", 0),
    ("devices.0.memory_bus_bits", 0),
    ("devices.0.sm_clock_max_hz", -1e9),
    ("devices.0.sm_clock_step_hz", -1),
    ("devices.0.sm_clock_seen_max_hz", "1995"),
    ("devices.0.confidential_computing", False),
    ("devices.0.fabric", 3),
    ("devices.0.power_limit_w", -1),
    ("devices.0.power_limit_w", 0),
    ("devices.0.xids", [2**63]),
    ("devices.0.after.memory_temperature_c", None),
    ("devices.0.after.nvlinks", {}),
    ("devices.0.after.nvlinks.0.link", _MISSING),
    ("devices.0.after.nvlinks.0.bytes", -1),
    ("devices.0.after.nvlinks.0.replays", 0.5),
    ("devices.0.after.nvlinks.0.symbol_ber", 1.5),
    ("devices.0.pcie", None),
    ("devices.0.processes.0.pid", _MISSING),
    ("measurements", {}),
    ("measurements.1", []),
    ("measurements.0.id", _MISSING),
    ("measurements.6.id", _MISSING),
    ("measurements.6.device", _MISSING),
    ("measurements.6.status", _MISSING),
    ("measurements.6.unit", _MISSING),
    ("measurements.6.unit", None),
    ("measurements.0.unit", "furlong"),
    ("measurements.0.unit", "B/s\nimport os"),
    ("measurements.6.method_version", _MISSING),
    ("measurements.6.launches_per_sample", _MISSING),
    ("measurements.5.verified", None),
    ("measurements.5.launch", None),
    ("measurements.5.conditions", None),
    ("measurements.5.conditions.memory_clock_hz", None),
    ("measurements.5.value", None),
    ("measurements.5.value", _MISSING),
    ("measurements.5.summary", _MISSING),
    ("measurements.3.reason", _MISSING),
    ("measurements.4.reason", ""),
    ("measurements.0.flags", None),
    ("measurements.0.id", ""),
    ("measurements.0.id", "HBM.read"),
    ("measurements.0.id", "hbm read"),
    ("measurements.0.id", "hbm.read\n"),
    ("measurements.0.id", "hbm..read"),
    ("measurements.0.id", "a" * 129),
    ("measurements.0.params.width", 1.5),
    ("measurements.0.params.width", 2**63),
    ("measurements.0.params", []),
    ("measurements.0.status", "fine"),
    ("measurements.6.samples_s", [1e-6, 0]),
    ("measurements.6.conditions.sm_clock_source", "guess"),
    ("measurements.0.value", -1),
    ("measurements.0.work.bytes_read", -1),
    ("measurements.0.work.flops", 1.001e30),
    ("measurements.0.work.flops", 0.999e-30),
    ("measurements.0.samples_s", [1e-4, 0]),
    ("measurements.0.samples_s", [-1e-4]),
    ("measurements.0.samples_s", [None]),
    ("measurements.0.samples_s", [1e-4] * 65),
    ("measurements.0.launches_per_sample", -1),
    ("measurements.0.sittings", [7]),
    ("measurements.0.sittings", [[7, 0]]),
    ("ceilings.1.spread", None),
    ("ceilings.1.spread.within", -1),
    ("ceilings.1.spread.runs", _MISSING),
    ("measurements.1.summary.n", 0),
    ("measurements.1.summary.min_s", 0),
    ("measurements.0.summary", None),
    ("measurements.0.device", None),
    ("measurements.0.flags", ["unstable", "unstable"]),
    ("measurements.0.flags", ["fast"]),
    ("measurements.0.conditions.sm_clock_hz", -1),
    ("measurements.0.conditions.utilization", 1.5),
    ("measurements.0.conditions.power_w", None),
    ("measurements.0.conditions.sm_clock_source", "guess"),
    ("measurements.2.series.time_s", [0.5, None, 1.5]),
    ("measurements.2.series.power_w", [1, 1, -1]),
    ("measurements.2.series.time_s", _MISSING),
    ("measurements.0.method_version", 0),
    ("resources.0.label", _MISSING),
    ("resources.0.kind", "network"),
    ("resources.0.unit", "B/s\nimport os"),
    ("ceilings.0.basis", "guess"),
    ("ceilings.0.value", 0),
    ("ceilings.0.unit", _MISSING),
    ("ceilings.0.unit", "B/s\nimport os"),
    ("ceilings.0.unit", "s"),
    ("ceilings.1.conditions.memory_clock_hz", None),
    ("missing_ceilings.0.reason", ""),
    ("missing_ceilings.0.why", "tired"),
    ("measurements.0.never_run", None),
    ("rooflines.0.points.0.intensity", -1),
    ("curves.0.topic", _MISSING),
    ("curves.0.title", 3),
    ("curves.0.figures", {}),
    ("curves.0.figures.0.value", _MISSING),
    ("curves.0.figures.0.value", "1"),
    ("curves.0.figures.0.value", -1.001e30),
    ("curves.0.figures.0.unit", ""),
    ("curves.0.figures.0.unit", "s\nimport os"),
    ("curves.0.figures.0.by.tokens", 1.5),
    ("curves.0.figures.0.by.tokens", 2**63),
    ("curves.0.figures.0.role", 1),
    ("curves.0.figures.0.number", "ratio"),
    ("curves.0.picture", None),
    ("curves.0.picture", {**_picture(), "key": "../a"}),
    ("curves.0.picture", {**_picture(), "key": "a" * 65}),
    ("curves.0.picture", {**_picture(), "panels": {}}),
    ("curves.0.picture", _picture(kind="pie")),
    ("curves.0.picture", _picture(naming="below")),
    ("curves.0.picture", _picture(names={"a": 1})),
    ("curves.0.picture", _picture(x={"label": "x", "scale": "cubic"})),
    ("curves.0.picture", _picture(y={"label": "y", "per": 0})),
    ("curves.0.picture", _picture(series=[{"label": "a"}])),
    ("curves.0.picture", _picture(marks=[{"label": "a", "value": "1"}])),
    ("memory_map.0.level", ""),
    ("memory_map.0.latency_s", -1),
    ("headlines.0.reference_basis", "guess"),
    ("findings.0.severity", "fatal"),
    ("findings.0.evidence", {"a": 1}),
)

# The same for what a schema cannot say.
_BEYOND_THE_SCHEMA: tuple[tuple[str, Any], ...] = (
    ("devices.1.uuid", "GPU-01234567-89ab-cdef-0123-456789abcdef"),
    ("devices.1.uuid", "host"),
    ("measurements.4.device", "GPU-9"),
    ("ceilings.0.device", "GPU-9"),
    ("missing_ceilings.0.device", "GPU-9"),
    ("rooflines.0.device", "GPU-9"),
    ("headlines.0.device", "GPU-9"),
    ("curves.0.device", "GPU-9"),
    ("memory_map.0.device", "GPU-9"),
    ("findings.0.device", "GPU-9"),
    ("measurements.1", _BASE["measurements"][0]),
    ("ceilings.1", _BASE["ceilings"][0]),
    ("ceilings.1", {**_BASE["ceilings"][0], "value": 1.0}),
    ("measurements.5.device", "GPU-9"),
    ("measurements.6.params.ways", 1),
    ("measurements", _twins({"a": 1}, {"a": "1"})),
    ("measurements", _twins({"a": 1}, {"a": 1.0})),
    ("measurements", _twins({"x": "1/y:2"}, {"x": "1", "y": 2})),
    ("measurements.1.summary.min_s", 0.005),
    ("measurements.1.summary.ci_low_s", 0.0048371),
    ("measurements.1.summary.max_s", 0.0048371),
    ("measurements.0.sittings", [[3, 3]]),
    ("measurements.0.sittings", [[7], []]),
    ("measurements.0.sittings", [[2**63 - 1] * 2 + [9]]),
    ("measurements.2.series.power_w", [1, 2]),
    ("ceilings.1.ci_low", 4.6e12),
    ("ceilings.1.ci_high", 4.5e12),
    ("later", _nested(32)),
    ("later", {str(i): i for i in range(4097)}),
)


def _population_figure(**changed: Any) -> dict[str, Any]:
    figure: dict[str, Any] = {
        "resource": "tensor.bf16",
        "basis": "burst",
        "unit": "FLOP/s",
        "method_version": 3,
        "cards": 3,
        "runs": 7,
        "limit": 7.5e14,
        "lowest_state": 8e14,
        "median": 8.1e14,
        "highest_state": 8.1e14,
        "between_cards": 0.01,
        "between_runs": 0,
    }
    return {**figure, **changed}


def _population(mode: str, **facts: Any) -> dict[str, Any]:
    return {
        "facts": {"model": "NVIDIA X1", "power_limit_w": 700.25, "ecc_enabled": True, **facts},
        "mode": mode,
        "cards": 3,
        "runs": 7,
        "drivers": ["580.159.04"],
        "limit_deviations": 5.5,
        "figures": [_population_figure(), _population_figure(basis="sustained")],
    }


_POPULATION_FILE = {
    "schema": "peakline-population",
    "schema_version": 1,
    "populations": [_population("full"), _population("quick")],
}
_FIGURE = "populations.0.figures.0"

_GOOD_POPULATIONS: tuple[tuple[str, Any], ...] = (
    ("schema_version", 1.0),
    ("later", {"x": 1}),
    ("populations.0.drivers", _MISSING),
    ("populations.1", _population("full", power_limit_w=700.5)),
    ("populations.0.facts.power_limit_w", _MISSING),
    ("populations.1.last", "2026-11-24T16:36:19Z"),
    (f"{_FIGURE}.method_version", _MISSING),
    (f"{_FIGURE}.beside_siblings", False),
    ("populations.0.figures.1", _population_figure(beside_siblings=True)),
    (f"{_FIGURE}.limit", 8e14),
    (f"{_FIGURE}.lowest_state", 8.1e14),
    (f"{_FIGURE}.cards", 7),
)

_BAD_POPULATIONS: tuple[tuple[str, Any], ...] = (
    ("schema_version", _MISSING),
    ("schema_version", True),
    ("schema_version", 2),
    ("schema_version", "1"),
    ("populations", _MISSING),
    ("populations", {}),
    ("populations", []),
    ("populations.1", []),
    ("populations.1.facts", _MISSING),
    ("populations.1.facts.model", _MISSING),
    ("populations.1.facts.model", ""),
    ("populations.1.facts.sm_count", 1.5),
    ("populations.1.facts.ecc_enabled", "on"),
    ("populations.1.mode", "slow"),
    ("populations.1.cards", 0),
    ("populations.1.limit_deviations", -1),
    ("populations.1.figures", _MISSING),
    ("populations.0.figures", []),
    (f"{_FIGURE}.resource", ""),
    (f"{_FIGURE}.basis", "guess"),
    (f"{_FIGURE}.unit", _MISSING),
    (f"{_FIGURE}.unit", "FLOP/s\nimport os"),
    (f"{_FIGURE}.method_version", 0),
    (f"{_FIGURE}.beside_siblings", 1),
    (f"{_FIGURE}.cards", _MISSING),
    (f"{_FIGURE}.runs", 0),
    (f"{_FIGURE}.median", 0),
    (f"{_FIGURE}.lowest_state", -8e14),
    (f"{_FIGURE}.between_cards", -0.01),
    (f"{_FIGURE}.between_runs", None),
    (f"{_FIGURE}.limit", _MISSING),
    (f"{_FIGURE}.limit", 0),
)

_POPULATIONS_BEYOND_THE_SCHEMA: tuple[tuple[str, Any], ...] = (
    (f"{_FIGURE}.limit", 8.01e14),
    (f"{_FIGURE}.lowest_state", 8.2e14),
    (f"{_FIGURE}.highest_state", 8.09e14),
    (f"{_FIGURE}.cards", 8),
    ("populations.0.cards", 8),
    ("populations.0.figures.1.basis", "burst"),
    ("populations.0.figures.1", _population_figure(beside_siblings=False)),
    ("populations.1.mode", "full"),
)


def _changed(base: dict[str, Any], path: str, value: Any) -> bytes:
    document = copy.deepcopy(base)
    *above, last = path.split(".")
    place: Any = document
    for step in above:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    key = int(last) if isinstance(place, list) else last
    if value is _MISSING:
        del place[key]
    else:
        place[key] = value
    return json.dumps(document).encode()


def _cases(
    rows: tuple[tuple[str, Any], ...],
    schema: bool,
    refused: bool = True,
    base: dict[str, Any] = _BASE,
) -> Iterator[Case]:
    for path, value in rows:
        name = f"{path} {'is missing' if value is _MISSING else '= ' + repr(value)[:30]}"
        yield Case(name, _changed(base, path, value), refused, schema)


def _raw() -> Iterator[Case]:
    """What is not even JSON as it has to be."""
    text = json.dumps(_BASE).encode()

    def put(old: bytes, new: bytes) -> bytes:
        assert old in text
        return text.replace(old, new, 1)

    zipped = gzip.compress(text, mtime=0)
    yield Case("gzip", zipped)
    yield Case("gzip in two parts", gzip.compress(text[:99]) + gzip.compress(text[99:]))
    yield Case("gzip with padding", zipped + bytes(9))
    yield Case("gzip with more behind", zipped + b"{}", True)
    yield Case("gzip's first bytes alone", zipped[:2], True)
    yield Case("gzip cut", zipped[:-9], True)
    yield Case("gzip with another checksum", zipped[:-8] + bytes(4) + zipped[-4:], True)
    yield Case("gzip of nothing", gzip.compress(b""), True)
    yield Case("gzip of gzip", gzip.compress(zipped), True)
    yield Case("gzip of far too much", gzip.compress(bytes(33 << 20)), True)
    yield Case("empty", b"", True)
    yield Case("blanks alone", b" \r\n\t", True)
    yield Case("no object", b"[1]", True)
    yield Case("an empty object", b"{}", True)
    yield Case("byte order mark", b"\xef\xbb\xbf" + text, True)
    yield Case("UTF-16", text.decode().encode("utf-16"), True)
    yield Case("a NUL at the end", text + b"\0", True)
    yield Case("a NUL and more at the end", text + b"\0{}", True)
    yield Case("two values", text + b" {}", True)
    yield Case("cut", text[: len(text) // 2], True)
    yield Case("a comment", text + b"// x", True)
    yield Case("a comma too many", put(b"}]", b"},]"), True)
    yield Case("a key twice", put(b'"mode"', b'"mode": "full", "mode"'), True)
    yield Case("a foreign key twice", put(b'"mode"', b'"x": {"y": 1, "y": 1}, "mode"'), True)
    yield Case("not a number", put(b"117.25", b"NaN"), True)
    yield Case("infinite", put(b"117.25", b"-Infinity"), True)
    yield Case("beyond a double", put(b"117.25", b"1e999"), True)
    yield Case("a leading zero", put(b"117.25", b"0117.25"), True)
    yield Case("not UTF-8", put(b"node7", b"\xff"), True)
    yield Case("half a surrogate pair", put(b"node7", rb"\ud800"), True)
    yield Case("its other half", put(b"node7", rb"\udc00"), True)
    yield Case("a tiny number", put(b"117.25", b"0.0000000001e-2147483647"))
    yield Case("a large integer", put(b"117.25", b"1" + b"0" * 26))
    yield Case("a raw control character", put(b"node7", b"\x01"), True)
    yield Case("nested without end", b"[" * 100_000, True)
    yield Case("100,000 samples", put(b"[0.0004686312", b"[1" + b",1" * 100_000), True)
    yield Case(
        "a key that a terminal obeys", put(b'"params": {', rb'"params": {"\u001b[2J": [],'), True
    )


CASES = [
    Case("as it was written", GOLDEN.read_bytes(), schema=False),
    *_cases(_GOOD, schema=False, refused=False),
    *_cases(_BAD, schema=True),
    *_cases(_BEYOND_THE_SCHEMA, schema=False),
    *_raw(),
]
POPULATION_CASES = [
    Case("as it was written", json.dumps(_POPULATION_FILE).encode(), schema=False),
    *_cases(_GOOD_POPULATIONS, schema=False, refused=False, base=_POPULATION_FILE),
    *_cases(_BAD_POPULATIONS, schema=True, base=_POPULATION_FILE),
    *_cases(_POPULATIONS_BEYOND_THE_SCHEMA, schema=False, base=_POPULATION_FILE),
    Case("cut", json.dumps(_POPULATION_FILE).encode()[:-9], True),
]
