"""The roofline of one device and of several in one frame."""

from conftest import GPU, ONE_GPU, by_key, document_of, figure_of, loaded, only, pictures_of


def test_roofs_of_one_colour_are_told_apart(profile):
    picture = next(p for p in pictures_of(ONE_GPU, GPU) if p.key == "roofline-all")
    looks = {}
    names = {r.name for r in profile.resources if r.kind == "compute"}
    for axes in figure_of(picture).axes:
        for line in axes.get_lines():
            if line.get_label() in names:
                dash = str(line._unscaled_dash_pattern)  # as requested
                looks.setdefault(str(line.get_color()), []).append(dash)
    assert max(map(len, looks.values())) >= 2
    assert all(len(set(dashes)) == len(dashes) for dashes in looks.values())


def test_two_speeds_explain_points_above_roof():
    document = only(document_of(), "host.")
    (roof,) = [
        c
        for c in document["ceilings"]
        if (c["device"], c["resource"], c["basis"]) == ("host", "cpu.fp32", "measured")
    ]
    id_, _, threads = roof["measurement"].partition("/threads:")
    (row,) = [
        m
        for m in document["measurements"]
        if m["id"] == id_ and m["params"] == {"threads": int(threads)}
    ]
    row.pop("sittings", None)  # they refer to other samples
    (host,) = [r for r in document["rooflines"] if r["device"] == "host"]
    points = [p for p in host["points"] if p["precision"] == "fp32"]
    for point in points:
        point["flops_per_s"] = min(point["flops_per_s"], roof["value"])
    points[-1]["flops_per_s"] = 1.6 * roof["value"]
    low, high = (f"{rate * roof['value'] / 1e12:.2f} TFLOP/s" for rate in (1, 1.75))

    def said(samples):
        """The sentence; samples as multiples of the time that the roof stands for."""
        row["samples_s"] = [sample * row["work"]["flops"] / roof["value"] for sample in samples]
        return by_key(loaded(document), "host")["roofline"].how.partition(" points lie ")[2]

    document["host"]["virtualization"] = "kvm"
    assert said([1] * 6 + [4 / 7] * 4) == (
        "up to 1.60 × as high as their roof: the processor (virtualized: kvm) ran at two "
        f"speeds, between which samples of the roof lie too, from {low} to {high}."
    )
    document["host"]["virtualization"] = ""
    assert "roof: the processor ran at two speeds" in said([1] * 6 + [4 / 7] * 4)
    # The roof's samples show one speed, or the points are not above the roof.
    assert said([1] * 10) == ""
    points[-1]["flops_per_s"] = 1.04 * roof["value"]
    assert said([1] * 6 + [4 / 7] * 4) == ""
