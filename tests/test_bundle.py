"""Bundles on disk: what was written is read, and what is not a bundle is refused."""

from __future__ import annotations

import json
import os
import random
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from parcubin.bundle import Bundle, read_bundle, write_bundle
from parcubin.errors import InputError, ParcubinError, UsageError
from parcubin.files import write_file, write_files
from parcubin.inspect.cubin import read_cubin
from parcubin.model import Assembly, KernelInfo, Target, VariableInfo
from tests.inspect.cuda_tools import Tools

HEADER = ".version 8.7\n.target SM\n.address_size 64\n"
SHARDS = (
    ".visible .global .u32 counter; .global .align 1 .b8 message[3] = {65, 66, 0};"
    ".visible .entry first() { st.global.u32 [counter], 1; .shared .align 4 .b8 s[20]; st.shared.u32 [s], 1; ret; }"
    ".visible .entry second() { .reg .b64 %rd1; mov.u64 %rd1, message; st.global.u64 [counter], %rd1; ret; }",
    ".visible .const .u32 table = 3; .global .align 1 .b8 message[3] = {65, 66, 0};"
    ".visible .entry third() { .reg .b64 %rd1; .reg .b32 %r1; mov.u64 %rd1, message; ld.const.u32 %r1, [table];"
    "st.global.u32 [%rd1], %r1; ret; }",
)


@dataclass(frozen=True)
class Compiled:
    target: Target
    assemblies: tuple[Assembly, ...]
    kernels: Mapping[str, KernelInfo]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    tools = Tools(tmp_path_factory.mktemp("ptxas"))
    assemblies = tuple(Assembly(tools.assemble(HEADER + shard, "sm_90a")) for shard in SHARDS)
    kernels = {name: info for a in assemblies for name, info in read_cubin(a.cubin).kernels.items()}
    kernels["first"] = replace(kernels["first"], spill_bytes=16)  # as a compiler's log says it
    return Compiled(Target("sm_90a"), assemblies, kernels)


@pytest.fixture(scope="module")
def bundle(program: Compiled) -> Bundle:
    return Bundle.of(program)


def contents(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.iterdir()}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def test_of_a_program(program: Compiled, bundle: Bundle) -> None:
    assert [cubin for _, cubin in bundle.assemblies] == [assembly.cubin for assembly in program.assemblies]
    assert bundle.target == program.target
    assert bundle.kernels == program.kernels
    assert bundle.kernels["first"].shared_bytes == 20
    one, two = (name for name, _ in bundle.assemblies)
    assert bundle.kernel_files == {"first": one, "second": one, "third": two}
    assert bundle.variables == {
        "counter": VariableInfo("counter", "global", 4),
        "message": VariableInfo("message", "global", 3),
        "table": VariableInfo("table", "constant", 4),
    }
    assert bundle.variable_files == {"counter": (one,), "table": (two,), "message": (one, two)}


@pytest.mark.parametrize("name", ["out", "out.zip", "out.cubins"])
def test_round_trip(bundle: Bundle, tmp_path: Path, name: str) -> None:
    write_bundle(bundle, tmp_path / name)
    assert (tmp_path / name).is_dir() is (name != "out.zip")
    assert read_bundle(tmp_path / name) == bundle
    assert names_in(tmp_path) == [name]
    assert contents(tmp_path / name).keys() == {"index.json", *(file for file, _ in bundle.assemblies)}


def test_empty_bundle(tmp_path: Path) -> None:
    empty = Bundle.of(Compiled(Target("sm_80"), (), {}))
    write_bundle(empty, tmp_path / "out")
    assert read_bundle(tmp_path / "out") == empty


def test_archive_depends_on_contents_alone(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle(bundle, tmp_path / "a.zip")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    write_bundle(read_bundle(tmp_path / "a.zip"), tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    write_bundle(bundle, tmp_path / "folder")
    assert contents(tmp_path / "folder") == contents(tmp_path / "a.zip")


def test_output_has_the_usual_permissions(bundle: Bundle, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        for name in ("out", "out.zip"):
            write_bundle(bundle, tmp_path / name)
        write_file(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    modes = {p.relative_to(tmp_path).parts[0]: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {"out": 0o750, "out.zip": 0o640, "file": 0o640}
    assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "out").iterdir()} == {0o640}


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_bundle_replaces_bundle(bundle: Bundle, program: Compiled, tmp_path: Path, name: str) -> None:
    write_bundle(Bundle.of(replace(program, assemblies=program.assemblies[:1])), tmp_path / name)
    write_bundle(bundle, tmp_path / name)
    assert read_bundle(tmp_path / name) == bundle
    assert len(contents(tmp_path / name)) == 3
    assert names_in(tmp_path) == [name]


def test_bundle_fills_an_empty_folder(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    write_bundle(bundle, tmp_path / "link")
    assert read_bundle(tmp_path / "out") == bundle
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("prepare", ["other file", "bundle and other file", "foreign index", "file"])
def test_what_is_not_a_bundle_is_not_replaced(bundle: Bundle, tmp_path: Path, prepare: str) -> None:
    out = tmp_path / "out"
    if prepare == "file":
        out.write_text("mine")
    elif prepare == "bundle and other file":
        write_bundle(bundle, out)
        (out / "notes.txt").write_text("mine")
    else:
        out.mkdir()
        (out / ("notes.txt" if prepare == "other file" else "index.json")).write_text('{"format": "another"}')
    before = out.read_text() if out.is_file() else contents(out)
    with pytest.raises(UsageError, match="exists and was not written by parcubin"):
        write_bundle(bundle, out)
    assert (out.read_text() if out.is_file() else contents(out)) == before
    assert names_in(tmp_path) == ["out"]


def test_folder_in_place_of_the_archive(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "out.zip").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        write_bundle(bundle, tmp_path / "out.zip")


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_failed_write_leaves_nothing_new(
    bundle: Bundle, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(bundle, tmp_path / name)
    before = contents(tmp_path / name)
    move = Path.rename if name == "out" else Path.replace

    def fail(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return move(self, target)

    monkeypatch.setattr(Path, move.__name__, fail)
    with pytest.raises(ParcubinError, match="No space left on device"):
        write_bundle(Bundle.of(Compiled(Target("sm_80"), (), {})), tmp_path / name)
    assert contents(tmp_path / name) == before
    assert names_in(tmp_path) == [name]


def test_missing_parent_folder(bundle: Bundle, tmp_path: Path) -> None:
    for name in ("no/out", "no/out.zip"):
        with pytest.raises(ParcubinError, match=r"Cannot write .*No such file"):
            write_bundle(bundle, tmp_path / name)
    with pytest.raises(ParcubinError, match="Cannot write"):
        write_file(tmp_path / "no" / "file", b"")


def test_write_files_replaces_what_the_caller_allows(tmp_path: Path) -> None:
    write_files(tmp_path / "ptx", {"0.ptx": b"a", "1.ptx": b"b"}, replaceable=lambda _: False)
    with pytest.raises(UsageError):
        write_files(tmp_path / "ptx", {"0.ptx": b"c"}, replaceable=lambda _: False)
    write_files(tmp_path / "ptx", {"0.ptx": b"c"}, replaceable=lambda path: path.name == "ptx")
    assert contents(tmp_path / "ptx") == {"0.ptx": b"c"}


# --- what is not a bundle -----------------------------------------------------------------------------------------


def edited(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    index = json.loads((path / "index.json").read_text())
    edit(index)
    (path / "index.json").write_text(json.dumps(index))


def kernel_number(index: dict[str, Any], value: object) -> None:
    index["kernels"]["first"]["assembly"] = value


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda index: index.update(format="other"), "does not describe a bundle"),
        (lambda index: index.update(version=2), "format version is 2"),
        (lambda index: index.update(version="1"), "'version' in its index"),
        (lambda index: index.update(target="sm_bogus"), "'sm_bogus' is not a target"),
        (lambda index: index.pop("target"), "lacks 'target'"),
        (lambda index: index.update(assemblies={}), "'assemblies' in its index"),
        (lambda index: index.update(assemblies=[3]), "lacks 'file'"),
        (lambda index: index["assemblies"][0].update(file="../../etc/passwd"), "cannot be one of a bundle"),
        (lambda index: index["assemblies"][0].update(file="/etc/passwd"), "cannot be one of a bundle"),
        (lambda index: index["assemblies"][0].update(file="index.json"), "cannot be one of a bundle"),
        (lambda index: index["assemblies"][0].update(file="0" * 32 + ".cubin"), "No such file"),
        (lambda index: index["assemblies"].append(index["assemblies"][0]), "cannot be one of a bundle"),
        (lambda index: index["assemblies"][0].update(bytes=2**40), "cannot be one of a bundle"),
        (lambda index: index["assemblies"][0].update(bytes=10), "larger than it should be"),
        (lambda index: index["assemblies"][0].update(bytes=-1), "where a number should be"),
        (lambda index: index["assemblies"][0].update(bytes=True), "'bytes' in its index"),
        (lambda index: kernel_number(index, 2), "an assembly that it does not list"),
        (lambda index: kernel_number(index, -1), "where a number should be"),
        (lambda index: kernel_number(index, 1), "wrong about the kernel 'first'"),
        (lambda index: index["kernels"].update(ghost=index["kernels"]["first"]), "wrong about the kernel 'ghost'"),
        (lambda index: index["kernels"]["first"].update(registers=1.5), "where a number should be"),
        (lambda index: index["kernels"]["first"].pop("spill_bytes"), "lacks 'spill_bytes'"),
        (lambda index: index["variables"]["counter"].update(bytes=8), "wrong about the variable 'counter'"),
        (lambda index: index["variables"]["counter"].update(space="shared"), "wrong about the variable 'counter'"),
        (lambda index: index["variables"]["counter"].update(assemblies=[]), "wrong about the variable 'counter'"),
        (lambda index: index["variables"]["counter"].update(assemblies=[None]), "where a number should be"),
    ],
)
def test_wrong_index(bundle: Bundle, tmp_path: Path, edit: Callable[[dict[str, Any]], object], says: str) -> None:
    write_bundle(bundle, tmp_path / "out")
    edited(tmp_path / "out", edit)
    with pytest.raises(InputError, match="is not a readable bundle") as caught:
        read_bundle(tmp_path / "out")
    assert says in str(caught.value)
    assert caught.value.input_name == str(tmp_path / "out")


@pytest.mark.parametrize("index", [b"", b"{", b"[" * 200_000, b"9" * 10_000, b"\xff\xfe", b"null", b"[]"])
def test_index_that_is_none(tmp_path: Path, index: bytes) -> None:
    (tmp_path / "index.json").write_bytes(index)
    with pytest.raises(InputError, match="is not a readable bundle"):
        read_bundle(tmp_path)


def test_folders_that_are_no_bundles(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_bundle(tmp_path / "missing")
    with pytest.raises(InputError, match=r"index\.json: No such file"):
        read_bundle(tmp_path)
    out = tmp_path / "out"
    write_bundle(bundle, out)
    cubin = out / bundle.assemblies[0][0]
    good = cubin.read_bytes()

    cubin.write_bytes(good[:-1] + b"?")
    with pytest.raises(InputError, match="was changed after the bundle was written"):
        read_bundle(out)
    cubin.write_bytes(good[:-1])
    with pytest.raises(InputError, match="was changed after the bundle was written"):
        read_bundle(out)
    cubin.unlink()
    (tmp_path / "elsewhere").write_bytes(good)
    cubin.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link"):
        read_bundle(out)
    cubin.unlink()
    os.mkfifo(cubin)  # reading it would wait for ever
    with pytest.raises(InputError, match="not a regular file"):
        read_bundle(out)


def test_huge_index_is_not_read(bundle: Bundle, tmp_path: Path) -> None:
    write_bundle(bundle, tmp_path / "out")
    os.truncate(tmp_path / "out" / "index.json", 2**40)
    with pytest.raises(InputError, match="larger than it should be"):
        read_bundle(tmp_path / "out")


def test_file_that_is_no_cubin() -> None:
    with pytest.raises(InputError, match="is not a readable CUBIN"):
        Bundle.of(Compiled(Target("sm_80"), (Assembly(b"no CUBIN"),), {}))


def rewritten(path: Path, change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], object]) -> None:
    """Writes an archive again after a change of its entries."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    change(entries)
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in entries:
            archive.writestr(entry, data, compress_type=entry.compress_type)


def compress(entry: zipfile.ZipInfo) -> None:
    entry.compress_type = zipfile.ZIP_DEFLATED


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda entries: entries.append((zipfile.ZipInfo("../evil"), b"x")), "'../evil', which is no part"),
        (lambda entries: entries.append((zipfile.ZipInfo("/etc/evil"), b"x")), "'/etc/evil', which is no part"),
        (lambda entries: entries.append((zipfile.ZipInfo("a/"), b"")), "'a/', which is no part"),
        (lambda entries: entries.append(entries[1]), "holds a name twice"),
        (lambda entries: entries.pop(1), "is missing"),
        (lambda entries: entries.clear(), "index.json is missing"),
        (lambda entries: compress(entries[1][0]), "is compressed"),
        (lambda entries: entries.append((zipfile.ZipInfo("0" * 32 + ".cubin"), b"x")), None),
    ],
)
def test_archive_with_changes(
    bundle: Bundle,
    tmp_path: Path,
    change: Callable[[list[tuple[zipfile.ZipInfo, bytes]]], object],
    says: str | None,
) -> None:
    path = tmp_path / "out.zip"
    write_bundle(bundle, path)
    rewritten(path, change)
    if says is None:  # a file that the index does not list harms nobody
        assert read_bundle(path) == bundle
        return
    with pytest.raises(InputError, match="is not a readable bundle") as caught:
        read_bundle(path)
    assert says in str(caught.value)


def test_archive_bomb(bundle: Bundle, tmp_path: Path) -> None:
    """Entries that claim far more than the archive holds, or all share the same bytes."""
    path = tmp_path / "out.zip"
    write_bundle(bundle, path)
    image = bytearray(path.read_bytes())
    directory = image.index(b"PK\x01\x02")
    struct.pack_into("<II", image, directory + 20, 2**31, 2**31)
    path.write_bytes(image)
    with pytest.raises(InputError, match="claims to hold more than it does"):
        read_bundle(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"no archive", bytes(1000)])
def test_files_that_are_no_archives(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "out.zip").write_bytes(data)
    with pytest.raises(InputError, match="is not a readable bundle"):
        read_bundle(tmp_path / "out.zip")


@pytest.mark.fault("damaged bundles", "`InputError`")
def test_random_damage_never_crashes(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "out.zip"
    write_bundle(bundle, path)
    good = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        headers = [entry.header_offset for entry in archive.infolist()]
    interesting = [h + i for h in headers for i in range(46)] + list(range(good.index(b"PK\x01\x02"), len(good)))
    source = random.Random(1)
    refused = 0
    for _ in range(600):
        image = bytearray(good)
        for _ in range(source.randint(1, 3)):
            position = source.choice(interesting) if source.random() < 0.8 else source.randrange(len(image))
            image[position] = source.randrange(256)
        path.write_bytes(image)
        try:
            assert read_bundle(path) == bundle
        except InputError:
            refused += 1
    assert refused > 200
