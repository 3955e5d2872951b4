"""The checks around a link, on modules that ptxas made; the linkers' own verdicts are the yardstick."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import pytest
from cuda.pathfinder import find_nvidia_binary_utility

from parcubin.errors import DuplicateSymbolError, LinkCheckError
from parcubin.inspect.checks import check_after_link, check_before_link
from parcubin.inspect.cubin import read_cubin
from parcubin.model import CompilationOptions, RelocatableKind, RelocatableModule, Target
from parcubin.providers.link_check import check_output
from parcubin.providers.subprocess import SubprocessProvider
from parcubin.toolchain.version import Tool
from parcubin.workers.jobs import LinkShards
from tests.cuda_tools import cuda_tool
from tests.inspect.cuda_tools import Tools

ARCHITECTURE = "sm_90a"
HEADER = ".version 8.7\n.target SM\n.address_size 64\n"
LOAD = "ld.param.u64 %rd1, [p]; ld.SPACE.u32 %r1, [v]; st.global.u32 [%rd1], %r1; ret;"


def kernel(name: str, body: str = "ret;", prefix: str = ".visible") -> str:
    return f"{prefix} .entry {name}(.param .u64 p) {{ .reg .b64 %rd<3>; .reg .b32 %r<3>; {body} }}\n"


def reference(declaration: str, space: str = "global") -> str:
    """A variable of another module, used."""
    return declaration + kernel("k", LOAD.replace("SPACE", space))


MODULES = {
    "extern of 4": reference(".extern .global .align 4 .b8 v[4];"),
    "extern of unknown size": reference(".extern .global .align 4 .b8 v[];"),
    "extern of 8, constant": reference(".extern .const .align 4 .b8 v[8];", "const"),
    "4": ".visible .global .align 4 .b8 v[4];",
    "8": ".visible .global .align 4 .b8 v[8];",
    "8, constant": ".visible .const .align 4 .b8 v[8];",
    "weak 4": ".weak .global .align 4 .b8 v[4];",
    "weak 8": ".weak .global .align 4 .b8 v[8];",
    "common 4": ".common .global .align 4 .b8 v[4];",
    "common 16": ".common .global .align 4 .b8 v[16];",
    "local 4": ".global .align 4 .b8 v[4];" + kernel("k", LOAD.replace("SPACE", "global")),
    "function": ".visible .func v() { ret; }",
    "weak function": ".weak .func v() { ret; }",
    "kernel": kernel("v"),
    "weak kernel": kernel("v", prefix=".weak"),
}


def check(tools: Tools, *modules: str, option: str = "-c") -> None:
    images = [tools.assemble(HEADER + module, ARCHITECTURE, option, name=f"m{i}") for i, module in enumerate(modules)]
    check_before_link([(f"m{i}.ll", read_cubin(image)) for i, image in enumerate(images)])


def nvlink_accepts(tools: Tools, *modules: str) -> bool:
    """nvlink checks the same things (and crashes on some), so its verdict is an independent one."""
    names = []
    for i, module in enumerate(modules):
        tools.assemble(HEADER + module, ARCHITECTURE, "-c", name=f"n{i}")
        names.append(f"n{i}.{ARCHITECTURE}.cubin")
    nvlink = find_nvidia_binary_utility("nvlink")
    assert nvlink
    command = [nvlink, "-arch", ARCHITECTURE, *names, "-o", "out.cubin"]
    return subprocess.run(command, cwd=tools.folder, capture_output=True).returncode == 0


@pytest.mark.parametrize("option", ["-c", "-ewp"])
@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("4", "4", "global variable"),
        ("8, constant", "8, constant", "constant variable"),
        ("kernel", "kernel", "kernel"),
    ],
)
def test_strong_duplicates(tools: Tools, option: str, first: str, second: str, what: str) -> None:
    with pytest.raises(DuplicateSymbolError) as caught:
        check(tools, MODULES[first], MODULES[second], option=option)
    assert f"The {what} 'v' is defined in m0.ll and again in m1.ll." in str(caught.value)
    assert caught.value.kernels == (("v",) if what == "kernel" else ())


def test_duplicate_function(tools: Tools) -> None:
    with pytest.raises(DuplicateSymbolError, match=r"function 'v' is defined in m0\.ll and again in m1\.ll"):
        check(tools, MODULES["function"], MODULES["function"])


def test_duplicate_shared_variable(tools: Tools) -> None:
    shared = ".visible .shared .align 4 .b8 s[16];"
    modules = [
        shared
        + kernel(name, "st.shared.u32 [s], 1; bar.sync 0; ld.shared.u32 %r1, [s+4]; st.shared.u32 [s], %r1; ret;")
        for name in ("a", "b")
    ]
    assert not nvlink_accepts(tools, *modules)
    with pytest.raises(DuplicateSymbolError, match="shared variable 's'"):
        check(tools, *modules)


def test_duplicate_kernels_without_visible(tools: Tools) -> None:
    """nvlink keeps both, and which one the driver finds is anybody's guess."""
    hidden = kernel("v", prefix="")
    assert nvlink_accepts(tools, hidden, hidden)
    with pytest.raises(DuplicateSymbolError, match="kernel 'v'"):
        check(tools, hidden, hidden)


def test_all_duplicates_are_counted_and_all_kernels_attached(tools: Tools) -> None:
    module = "".join(kernel(f"k{i}") for i in range(5))
    with pytest.raises(DuplicateSymbolError, match=r"and so are 4 more symbols") as caught:
        check(tools, kernel("other"), module, module)
    assert sorted(caught.value.kernels) == ["k0", "k1", "k2", "k3", "k4"]
    assert caught.value.input_name == "m2.ll"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("weak 4", "weak 4"),
        ("weak 4", "4"),
        ("4", "weak 4"),
        ("weak kernel", "weak kernel"),
        ("weak kernel", "kernel"),
        ("weak function", "weak function"),
        ("weak function", "function"),
        ("extern of unknown size", "8"),
        ("8", "extern of unknown size"),
        ("extern of unknown size", "common 16"),
        ("extern of 4", "4"),
        ("extern of 4", "weak 4"),
        ("extern of 4", "common 4"),
        ("extern of 8, constant", "8, constant"),
        ("common 4", "common 16"),
        ("common 4", "4"),
        ("local 4", "8"),
        ("local 4", "function"),
    ],
)
def test_what_merges(tools: Tools, first: str, second: str) -> None:
    for order in ((first, second), (second, first)):
        modules = [MODULES[name] for name in order]
        check(tools, *modules)
        assert nvlink_accepts(tools, *modules)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("extern of 4", "8", "'v' has 8 bytes in m1.ll and 4 in m0.ll"),
        ("extern of 4", "weak 8", "'v' has 8 bytes in m1.ll and 4 in m0.ll"),
        ("extern of 4", "common 16", "'v' has 16 bytes in m1.ll and 4 in m0.ll"),
        ("weak 4", "weak 8", "'v' has 8 bytes in m1.ll and 4 in m0.ll"),
        ("weak 4", "8", "'v' has 8 bytes in m1.ll and 4 in m0.ll"),
        ("common 16", "8", "'v' has 8 bytes in m1.ll and 16 in m0.ll"),
        ("common 4", "8", "'v' has 8 bytes in m1.ll and 4 in m0.ll"),
        ("common 16", "weak 4", "'v' has 4 bytes in m1.ll and 16 in m0.ll"),
        ("extern of 8, constant", "8", "'v' is a global variable in m1.ll and a constant variable in m0.ll"),
        ("extern of unknown size", "8, constant", "'v' is a constant variable in m1.ll and a global variable in m0.ll"),
        ("common 4", "8, constant", "'v' is a constant variable in m1.ll and a global variable in m0.ll"),
        ("extern of 4", "function", "'v' is a function in m1.ll and a global variable in m0.ll"),
    ],
)
def test_what_disagrees(tools: Tools, first: str, second: str, says: str) -> None:
    modules = [MODULES[first], MODULES[second]]
    assert not nvlink_accepts(tools, *modules)
    with pytest.raises(LinkCheckError, match=re.escape(says)):
        check(tools, *modules)


def test_all_disagreements_are_named(tools: Tools) -> None:
    first = "".join(f".weak .global .align 4 .b8 v{i}[4];" for i in range(3))
    with pytest.raises(LinkCheckError) as caught:
        check(tools, first, first.replace("[4]", "[8]"))
    assert all(f"'v{i}' has" in str(caught.value) for i in range(3))


def test_references_without_a_definition_are_the_linkers_business(tools: Tools) -> None:
    check(tools, MODULES["extern of unknown size"], MODULES["extern of 4"].replace("entry k", "entry k2"))


def test_dynamic_shared_memory_of_different_alignment(tools: Tools) -> None:
    """The first module's alignment wins, whatever the others need: the link succeeds and the code is wrong."""
    body = "st.shared.u32 [s], 1; bar.sync 0; ld.shared.u32 %r1, [s+4]; st.shared.u32 [s], %r1; ret;"
    small = ".extern .shared .align 16 .b8 s[];" + kernel("a", body)
    large = ".extern .shared .align 128 .b8 s[];" + kernel("b", body)
    assert nvlink_accepts(tools, small, large)
    with pytest.raises(LinkCheckError, match=r"'s' is aligned to 128 bytes in m1\.ll, but to 16 in m0\.ll"):
        check(tools, small, large)
    check(tools, large, small)
    check(tools, small, large, option="-ewp")  # each kernel keeps its own


def test_kernels_with_recursive_functions_of_one_name(tools: Tools) -> None:
    """ptxas names a kernel's own copy of a visible function `$kernel$function`, globally."""
    function = """
.visible .func (.param .b32 r) f(.param .b32 x) { .reg .b32 %a<4>; .reg .pred %p; ld.param.u32 %a1, [x];
setp.lt.u32 %p, %a1, 3; @%p bra done; sub.u32 %a2, %a1, 1;
{ .param .b32 i; .param .b32 o; st.param.b32 [i], %a2; call (o), f, (i); ld.param.b32 %a3, [o]; }
mul.lo.u32 %a1, %a1, %a3;
done: st.param.b32 [r], %a1; ret; }
"""
    body = """
ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];
{ .param .b32 i; .param .b32 o; st.param.b32 [i], %r1; call (o), f, (i); ld.param.b32 %r2, [o]; }
st.global.u32 [%rd1], %r2; ret;
"""
    check(tools, function + kernel("a", body), function + kernel("b", body), option="-ewp")
    weak = function + kernel("a", body, prefix=".weak")
    check(tools, weak, weak, option="-ewp")


def test_after_the_link_everything_is_there(tools: Tools) -> None:
    modules = [
        tools.assemble(HEADER + text, ARCHITECTURE, option, name=name)
        for name, option, text in (
            ("a", "-ewp", ".visible .global .u32 x; .global .align 4 .b8 hidden[8];" + kernel("a")),
            ("b", "-c", ".visible .const .u32 c = 3; .global .texref image;" + kernel("b") + kernel("k", prefix="")),
        )
    ]
    output = read_cubin(tools.link(modules, ARCHITECTURE))
    check_after_link(output, ["a", "b", "k"], ["x", "hidden", "c", "image"])
    check_after_link(output, [], [])


def test_after_the_link_something_is_missing(tools: Tools) -> None:
    """nvlink drops the kernels of a finished CUBIN that it is given, without a word."""
    finished = tools.assemble(HEADER + ".visible .global .u32 x;" + kernel("lost") + kernel("gone"), ARCHITECTURE)
    other = tools.assemble(HEADER + kernel("kept"), ARCHITECTURE, "-c", name="b")
    output = read_cubin(tools.link([finished, other], ARCHITECTURE))
    with pytest.raises(LinkCheckError, match="lacks the kernels gone, lost and the variables x") as caught:
        check_after_link(output, ["lost", "kept", "gone"], ["x"])
    assert caught.value.kernels == ("gone", "lost")
    with pytest.raises(LinkCheckError, match="lacks the variables kept"):
        check_after_link(output, ["kept"], ["kept"])


def test_what_a_linker_calls_success(tools: Tools) -> None:
    """An empty file, an output of the wrong type, and one that lacks a kernel."""
    module = tools.assemble(HEADER + kernel("k"), ARCHITECTURE, "-c")
    linked = tools.link([module], ARCHITECTURE)
    infos = [read_cubin(module)]
    check_output(linked, infos, relocatable=False, tool="nvlink", release=(13, 5), log="")
    check_output(module, infos, relocatable=True, tool="nvlink", release=(13, 5), log="")
    for cubin, relocatable in ((b"", False), (module, False), (linked, True)):
        with pytest.raises(LinkCheckError, match="reported success but did not write"):
            check_output(cubin, infos, relocatable=relocatable, tool="nvlink", release=(13, 5), log="")
    more = [*infos, read_cubin(tools.assemble(HEADER + kernel("lost"), ARCHITECTURE, "-c"))]
    with pytest.raises(LinkCheckError, match="lacks the kernels lost"):
        check_output(linked, more, relocatable=False, tool="nvlink", release=(13, 5), log="")


def test_variables_are_checked_after_a_link(tools: Tools) -> None:
    text = HEADER + ".visible .global .u32 x;" + kernel("k")
    module = RelocatableModule(tools.assemble(text, ARCHITECTURE, "-c"), RelocatableKind.PLAIN, "m")
    provider = SubprocessProvider(*(Tool.executable(name, cuda_tool(name)) for name in ("ptxas", "nvlink")))
    link = LinkShards(provider, Target(ARCHITECTURE), (module,), CompilationOptions(), ("k",), ("x",), False)
    assert link.run().info.kernels.keys() == {"k"}
    with pytest.raises(LinkCheckError, match="lacks the variables y"):
        replace(link, variables=("x", "y")).run()
