"""The alerts and the dashboard of scripts/prometheus work with `check --prometheus`."""

import json
import re
import shutil
import subprocess

import pytest
from program import REFERENCE, SOURCE, peakline, slow_profile

FOLDER = SOURCE / "scripts/prometheus"
ALERTS = FOLDER / "peakline-alerts.yml"
DASHBOARD = FOLDER / "peakline-dashboard.json"
LABEL = r'(\w+)="([^"]*)"'
SCRAPED = {"instance", "job"}  # labels added by Prometheus


def samples_of(profile, folder):
    """A check's metrics, labels and values."""
    metrics = folder / "peakline.prom"
    peakline("check", profile, "--prometheus", metrics)
    lines = re.findall(r"(?m)^(\w+)\{(.*)\} (\S+)$", metrics.read_text())
    return [(name, dict(re.findall(LABEL, labels)), float(value)) for name, labels, value in lines]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    return samples_of(slow_profile(folder / "slow.json"), folder)


def dashboard_expressions():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def alert_expressions():
    return re.findall(r"(?m)^ +expr: (.+)$", ALERTS.read_text())


def test_every_metric_and_label_is_written(samples):
    labels = {}
    for name, found, _ in samples:
        labels.setdefault(name, SCRAPED.copy()).update(found)
    queries = re.findall(r'"definition": "([^"]+)"', DASHBOARD.read_text())
    used = set()
    for expression in dashboard_expressions() + alert_expressions() + queries:
        names = re.findall(r"peakline_\w+", expression)
        used.update(names)
        assert names, expression
        chosen = re.findall(r"(\w+)=~?\"", expression)
        for group in re.findall(r"(?:by|ignoring) \(([^)]+)\)", expression):
            chosen += group.split(", ")
        if query := re.fullmatch(r"label_values\(\w+, (\w+)\)", expression):
            chosen.append(query[1])
        for name in names:
            assert set(chosen) <= labels[name], expression
    assert used == labels.keys()
    texts = set(re.findall(r"\$labels\.(\w+)", ALERTS.read_text()))
    assert texts <= set.union(*labels.values())
    outcomes = {found.get("outcome") for _, found, _ in samples}
    for outcome in re.findall(r'outcome="(\w+)"', "".join(alert_expressions())):
        assert outcome in outcomes


def test_every_metric_is_documented(samples):
    rows = re.findall(
        r"(?m)^\| `(peakline_\w+)` \| (.*?) \|", (SOURCE / "scripts/README.md").read_text()
    )
    labels = {name: set(found) for name, found, _ in samples}
    assert {name: set(re.findall(r"\w+", listed)) for name, listed in rows} == labels


def test_panels_do_not_overlap():
    dashboard = json.loads(DASHBOARD.read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    taken = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not taken & cells, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", "".join(dashboard_expressions()))) <= variables


def promtool(*arguments):
    if shutil.which("promtool") is None:
        pytest.skip("not installed: promtool")
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_alerts_and_panels(tmp_path):
    promtool("check", "rules", ALERTS)
    rules = [
        {"record": f"panel:{number}", "expr": expression}
        for number, expression in enumerate(dashboard_expressions())
    ]
    panels = tmp_path / "panels.json"  # JSON is YAML
    panels.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", panels)


def series(name, labels, values):
    listed = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return {"series": f"{name}{{{listed}}}", "values": values}


def test_alerts_fire(samples, tmp_path):
    """One card each is slow, could not be judged, gets slower, and is no longer checked; the
    GPUs of one machine are always busy."""
    slow = [
        series(name, labels | {"instance": "slow"}, f"{value}x240")
        for name, labels, value in samples
        if name == "peakline_check_rules"
    ]
    healthy = [
        series(name, labels | {"instance": "healthy"}, f"{value}x240")
        for name, labels, value in samples_of(REFERENCE, tmp_path)
        if name in ("peakline_check_rules", "peakline_check_figure")
    ]
    rules = {"instance": "unread", "gpu": "gpu0", "outcome": "cannot_judge"}
    figure = {"instance": "sinks", "gpu": "gpu0", "rule": "hbm.read/measured"}
    checked = {"instance": "forgotten", "gpu": "gpu0"}
    attempt = {"instance": "busy", "outcome": "cannot_judge"}
    hourly = {
        "interval": "1h",
        "input_series": [
            *slow,
            *healthy,
            series("peakline_check_rules", rules, "1x240"),
            series("peakline_check_figure", figure, "4.6e12x143 4.4e12x96"),
            series(
                "peakline_check_figure", figure | {"instance": "steady"}, "4.6e12x143 4.5e12x96"
            ),
            series("peakline_check_run_timestamp_seconds", checked, "0+3600x100 360000x139"),
            series("peakline_check_attempt_timestamp_seconds", attempt, "3600+3600x240"),
            series(
                "peakline_check_attempt_timestamp_seconds",
                attempt | {"instance": "unread"},
                "3600+3600x240",
            ),
        ],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname, instance) (ALERTS{alertstate="firing"})',
                "eval_time": when,
                "exp_samples": [
                    {"labels": f'{{alertname="Peakline{name}", instance="{instance}"}}', "value": 1}
                    for name, instance in fired
                ],
            }
            for when, fired in {
                "2h": [("GpuFails", "slow")],
                "100h": [
                    ("CheckGivesNoVerdict", "busy"),
                    ("GpuFails", "slow"),
                    ("GpuNotJudged", "unread"),
                ],
                "195h": [
                    ("CheckGivesNoVerdict", "busy"),
                    ("CheckIsOld", "forgotten"),
                    ("FigureFalls", "sinks"),
                    ("GpuFails", "slow"),
                    ("GpuNotJudged", "unread"),
                ],
            }.items()
        ],
    }
    tests = tmp_path / "tests.json"  # JSON is YAML
    tests.write_text(
        json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1h", "tests": [hourly]})
    )
    promtool("test", "rules", tests)
