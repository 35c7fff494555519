"""What holds between the fields of a profile, beyond what a JSON Schema can say."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from peakline.profile.errors import FieldError, expected, shown_text
from peakline.profile.measurement import Measurement, Series, Summary
from peakline.profile.profile import HOST, NODE, Profile


def check(profile: Profile) -> None:
    """Raises FieldError for the first rule that does not hold."""
    uuids: set[str] = {HOST, NODE}
    for index, device in enumerate(profile.devices):
        if device.uuid in uuids:
            raise expected("a uuid of its own", device.uuid, f"devices[{index}].uuid")
        uuids.add(device.uuid)
    for path, name in _named_devices(profile):
        if name not in uuids:
            raise expected('"host", "node" or the uuid of one of devices[]', name, f"{path}.device")
    seen: set[tuple[str, str]] = set()
    for index, m in enumerate(profile.measurements):
        try:
            _check_measurement(m)
        except FieldError as error:
            raise error.below(f"measurements[{index}]") from None
        if (m.device, m.name) in seen:
            raise FieldError(f"{shown_text(m.name)} is there twice", f"measurements[{index}]")
        seen.add((m.device, m.name))
    for index, c in enumerate(profile.ceilings):
        low = c.value if c.ci_low is None else c.ci_low
        high = c.value if c.ci_high is None else c.ci_high
        if not low <= c.value <= high:
            raise expected(
                "a value between ci_low and ci_high", c.value, f"ceilings[{index}].value"
            )


def _named_devices(profile: Profile) -> Iterator[tuple[str, str]]:
    """Path and device of everything that belongs to one."""
    keys = (
        "measurements",
        "ceilings",
        "missing_ceilings",
        "rooflines",
        "headlines",
        "curves",
        "memory_map",
    )
    for key in (*keys, "findings"):
        for index, item in enumerate(getattr(profile, key)):
            # A finding without a device is about the whole machine.
            if item.device or key != "findings":
                yield f"{key}[{index}]", item.device


def _check_measurement(m: Measurement) -> None:
    if m.status != "ok" and not m.reason:
        raise FieldError(f'"reason" is missing: the status is {m.status}')
    if m.status == "ok" and m.summary is None:
        raise FieldError('"samples_s" or "summary" is missing: the status is ok')
    if m.status == "ok" and m.value is None:
        raise FieldError('"value" is missing: the status is ok')
    if m.summary is not None:
        _check_summary(m.summary)
    if m.series is not None:
        _check_series(m.series)
    counted = sum(map(sum, m.sittings))
    if m.sittings and (counted != len(m.samples_s) or not all(m.sittings)):
        raise FieldError(
            f"expected {len(m.samples_s)} samples in all, and some in every run", "sittings"
        )


def _check_summary(s: Summary) -> None:
    if not 0 < s.min_s <= s.ci_low_s <= s.median_s <= s.ci_high_s <= s.max_s:
        raise FieldError(
            "expected 0 < min_s <= ci_low_s <= median_s <= ci_high_s <= max_s", "summary"
        )


def _check_series(s: Series) -> None:
    for column in dataclasses.fields(s):
        length = len(getattr(s, column.name))
        if length != len(s.time_s):
            raise FieldError(
                f"expected {len(s.time_s)} values, as in time_s, found {length}",
                f"series.{column.name}",
            )
