"""The table of datasheets, and the best known peak of a GPU."""

import dataclasses
import functools
import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from peakline import units
from peakline.names import basis_name
from peakline.profile import (
    Peak,
    PeakError,
    Profile,
    ProfileError,
    load,
    normalize_dtype,
    population,
)
from peakline.profile.peaks import COMPUTE_FAMILIES, bases_of, instruction_of
from peakline.text import short

# Search order if no basis is asked for.
Bases = tuple[str, ...]
_MEASURED = ("burst", "measured", "instruction")
_PROFILE_VARIABLE = "PEAKLINE_PROFILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    title: str
    url: str
    date: str  # "2021-06", or the year alone


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasheetFigure:
    """A dense peak, or the memory's bandwidth ("hbm"), in `unit`: "FLOP/s", "OP/s", "B/s"."""

    resource: str  # "tensor.bf16"
    value: float
    unit: str
    sm_clock_hz: float | None = None  # the clock that the value holds at, if stated


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    value: float
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """Documents contradict each other, so that none of their values is used."""

    resource: str
    unit: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PciId:
    device: str  # "10de:2335"
    subsystems: tuple[str, ...] = ()  # "10de:18be"; empty: any board


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A GPU as its datasheets describe it: rates at full clock, and the documents that state them.
    `products` lists all; "cut" and "disputed" name what has no usable figure."""

    product: str  # "H200 SXM"
    name: str  # NVML's full name
    pci_ids: tuple[PciId, ...]
    compute_major: int
    compute_minor: int
    sm_count: int | None = None
    boost_clock_hz: float | None = None
    tensor_rate: str  # of the architecture's: full, half_with_fp32_sums, half, unknown
    cut: tuple[str, ...]  # resources that run below the architecture's rate
    figures: tuple[DatasheetFigure, ...]
    documents: tuple[Document, ...]  # sources of the figures
    compared_with: tuple[Document, ...]  # mostly third parties'
    disputed: tuple[Dispute, ...]

    def figure(self, resource: str) -> DatasheetFigure | None:
        """The stated figure of a resource; None if there is none, or documents disagree."""
        return next((f for f in self.figures if f.resource == resource), None)


@functools.cache
def products() -> tuple[Product, ...]:
    """All products, from datasheets.json, as `peakline peaks` prints them."""
    text = resources.files("peakline").joinpath("datasheets.json").read_text(encoding="utf-8")
    table = json.loads(text)
    documents = {key: Document(**fields) for key, fields in table["documents"].items()}
    return tuple(_product(row, documents) for row in table["products"])


def _product(row: dict[str, Any], documents: dict[str, Document]) -> Product:
    def cited(key: str) -> tuple[Document, ...]:
        return tuple(documents[name] for name in row.get(key, ()))

    def statements(values: dict[str, float]) -> tuple[Statement, ...]:
        return tuple(Statement(value=v, document=documents[name]) for name, v in values.items())

    major, minor = map(int, row["compute"].split("."))
    figures, disputed = row.get("figures", {}), row.get("disputed", {})
    return Product(
        product=row["product"],
        name=row["name"],
        pci_ids=tuple(
            PciId(device=device, subsystems=tuple(subsystems))
            for device, subsystems in row.get("pci_ids", {}).items()
        ),
        compute_major=major,
        compute_minor=minor,
        sm_count=row.get("sm_count"),
        boost_clock_hz=row.get("boost_clock_hz"),
        tensor_rate=row["tensor_rate"],
        cut=tuple(row.get("cut", ())),
        figures=tuple(
            DatasheetFigure(
                resource=name, value=value, unit=_unit(name), sm_clock_hz=next(iter(clock), None)
            )
            for name, (value, *clock) in figures.items()
        ),
        documents=cited("documents"),
        compared_with=cited("compared_with"),
        disputed=tuple(
            Dispute(resource=name, unit=_unit(name), statements=statements(values))
            for name, values in disputed.items()
        ),
    )


def _unit(resource: str) -> str:
    named = {"hbm": "B/s", "memory_bus_bits": "bit", "tensor.int8": "OP/s"}
    return named.get(resource, "FLOP/s")


@dataclass(frozen=True, slots=True)
class _Gpu:
    name: str
    uuid: str = ""
    pci_device_id: str = ""
    pci_subsystem_id: str = ""
    mig: bool = False

    def product(self) -> Product | None:
        """The product with these PCI ids, else with the full name; None if it is not unique."""
        for one in products():
            for pci in one.pci_ids:
                # A virtual GPU has the device id of its physical GPU, but not its board or name.
                board = (
                    self.pci_subsystem_id in pci.subsystems
                    if pci.subsystems
                    else self.name == one.name
                )
                if pci.device == self.pci_device_id and board:
                    return one
        named = [one for one in products() if one.name == self.name]
        return named[0] if len(named) == 1 else None


def peak_flops(
    device: str = "auto",
    dtype: str = "bf16",
    *,
    basis: str | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
) -> Peak:
    """The best known dense peak of a GPU in FLOP/s (OP/s for int8).

    device: "auto" is this machine's GPU, as nvidia-smi names it; else NVML's name or a product of
    `products()`, in full. profile: of this GPU, or a path; by default that of the environment
    variable PEAKLINE_PROFILE. Without a basis it is the burst of that profile, else the burst of
    the package's population of the model, else the datasheet's peak; `Peak.basis` and `Peak.source`
    say which. A share of a measured peak is larger than MFU as published, which is
    `basis="published"`.

    Raises PeakError, saying what was looked for, rather than return another model's peak, a sparse
    one, or the whole GPU's for a MIG slice; ProfileError for an unreadable profile.
    """
    bases = bases_of(basis) if basis is not None else None
    name = normalize_dtype(dtype)
    resource_names = [name] if "." in name else [f"{family}.{name}" for family in COMPUTE_FAMILIES]
    gpu = _at_hand() if device == "auto" else _named(device)
    why = []
    sources: tuple[Callable[..., Peak | str], ...] = (
        functools.partial(_of_profile, profile),
        _of_population,
        _of_datasheet,
    )
    for source in sources:
        found = source(gpu, name, resource_names, bases)
        if isinstance(found, Peak):
            return found
        why.append(found)
    raise PeakError(
        f"no {basis_name(basis or 'known')} {name} peak of {short(gpu.name)}: {'; '.join(why)}"
    )


def _of_profile(
    given: Profile | str | os.PathLike[str] | None,
    gpu: _Gpu,
    dtype: str,
    _: list[str],
    bases: Bases | None,
) -> Peak | str:
    given = given or os.environ.get(_PROFILE_VARIABLE)
    if not given:
        return f"no profile ({_PROFILE_VARIABLE} names none)"
    profile = given if isinstance(given, Profile) else load(given)
    where = profile.where
    same = [d for d in profile.devices if gpu.uuid and d.uuid == gpu.uuid]
    found = same or [d for d in profile.devices if d.name == gpu.name and not gpu.mig]
    if not found:
        return f"{where} has no such GPU"
    for one in bases or _MEASURED:
        try:
            return profile.peak(dtype, basis=one, device=found[0].uuid if same else gpu.name)
        except PeakError:
            continue
    return f"{where} has no such figure"


def _of_population(gpu: _Gpu, _: str, wanted: list[str], bases: Bases | None) -> Peak | str:
    if gpu.mig:
        return "a MIG slice has no population"
    for mode in ("full", "quick"):
        try:
            known = population(gpu.name, mode)
        except (PeakError, ProfileError):
            continue
        for resource in wanted:
            for one in bases or _MEASURED:
                try:
                    row = known.figure(resource, one)
                except PeakError:
                    continue
                return Peak(
                    row.median,
                    resource=resource,
                    basis=one,
                    unit=row.unit,
                    device=known.facts.model,
                    source=f"population of {known.facts.model}, {mode} runs: median of "
                    f"{units.counted(row.cards, 'card')}",
                )
    return "no population of the model has it"


def _of_datasheet(gpu: _Gpu, _: str, wanted: list[str], bases: Bases | None) -> Peak | str:
    if bases and "datasheet" not in bases:
        return f"a datasheet states no {basis_name(bases[0])} figures"
    if gpu.mig:
        return "a MIG slice has no datasheet"
    product = gpu.product()
    if product is None:
        return "no product of `peakline peaks`, or several"
    for resource in wanted:
        figure = product.figure(instruction_of(resource))
        if figure is None:
            continue
        clock = f" at {figure.sm_clock_hz / 1e6:.0f} MHz" if figure.sm_clock_hz else ""
        documents = "; ".join(f"{d.title}, {d.date}: {d.url}" for d in product.documents)
        return Peak(
            figure.value,
            resource=resource,
            basis="datasheet",
            unit=figure.unit,
            device=gpu.name,
            source=f"{product.product}{clock}; {documents}",
        )
    if any(d.resource in wanted for d in product.disputed):
        return "documents contradict each other"
    return f"no document states it of {product.product}"


def _named(text: str) -> _Gpu:
    """A GPU by a product's or NVML's name; PeakError if several have it."""
    wanted = text.strip().lower()
    found = [one for one in products() if one.product.lower() == wanted] or [
        one for one in products() if one.name.lower() == wanted
    ]
    if not found:
        words = set(_words(text))
        found = [p for p in products() if words and words <= {*_words(p.product), *_words(p.name)}]
    if len(found) > 1:
        raise PeakError(f"{text!r} are several products: {', '.join(p.product for p in found)}")
    if not found:
        return _Gpu(text)
    (one,) = found
    ids = one.pci_ids[0] if one.pci_ids else PciId(device="")
    return _Gpu(one.name, pci_device_id=ids.device, pci_subsystem_id=next(iter(ids.subsystems), ""))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _at_hand() -> _Gpu:
    """This machine's GPU; PeakError unless there is exactly one model."""
    fields = "name,uuid,pci.device_id,pci.sub_device_id,mig.mode.current"
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise PeakError(
            "which GPU is this? nvidia-smi does not say: name it, as in "
            f'peak_flops("NVIDIA H200", "bf16") ({error})'
        ) from error
    slices = "MIG-" in os.environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = []
    for line in run.stdout.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(fields.split(",")):
            name, uuid, device_id, subsystem_id, mig = cells
            gpus.append(
                _Gpu(name, uuid, _pci(device_id), _pci(subsystem_id), slices or mig == "Enabled")
            )
    kinds = {(gpu.name, gpu.mig): gpu for gpu in gpus}
    if len(kinds) != 1:
        found = ", ".join(gpu.name for gpu in kinds.values()) or "none"
        raise PeakError(f"name the GPU: this machine has {short(found)}")
    # The process may use any of several GPUs of one model.
    (gpu,) = kinds.values()
    return gpu if len(gpus) == 1 else dataclasses.replace(gpu, uuid="")


def _pci(text: str) -> str:
    """nvidia-smi prints the device before the vendor: "0x233510DE" becomes "10de:2335"."""
    digits = text.removeprefix("0x").lower()
    return f"{digits[4:]}:{digits[:4]}" if len(digits) == 8 else ""
