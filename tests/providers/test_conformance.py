"""What every compilation provider promises, checked on each that this environment has."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parcubin.errors import (
    CompileError,
    DuplicateSymbolError,
    InputError,
    PtxSyntaxError,
    PtxVersionError,
    RegisterAllocationError,
    RegisterSpillError,
    TargetMismatchError,
    TargetUnsupportedError,
    UnavailableError,
    UnresolvedSymbolError,
)
from parcubin.model import (
    Assembly,
    CompilationOptions,
    DeferredModule,
    DeviceLibrary,
    FastCompile,
    LinkInput,
    Ptx,
    RelocatableModule,
    Target,
)
from parcubin.providers.interface import CompilationProvider
from parcubin.providers.link_order import largest_alignment_first
from parcubin.toolchain.locate import find
from parcubin.toolchain.logs import resource_usage
from tests.providers.samples import (
    CALLER,
    EWP,
    HEADER,
    HELPERS,
    LAUNCHER,
    LOOP,
    PLAIN,
    SHARED,
    SM_80,
    STATIC_MEMORY,
    WITH_LINES,
    bounded_caller,
    dynamic_memory_kernel,
    many_live_values,
    store_kernel,
)

DEFAULT = CompilationOptions()
Cuobjdump = Callable[..., str]


def registers(cuobjdump: Cuobjdump, cubin: bytes) -> dict[str, int]:
    """Registers of each function, as cuobjdump reads them from the ELF."""
    found = re.findall(r"Function (\S+):\s*REG:(\d+)", cuobjdump(cubin, "--dump-resource-usage"))
    return {name: int(count) for name, count in found}


def relocatable(provider: CompilationProvider, ptx: Ptx) -> LinkInput:
    return provider.compile_to_relocatable_module(SM_80, ptx, DEFAULT, PLAIN)


def test_is_here(provider_name: str) -> None:
    """Skipped, with the reason, for each provider that this environment cannot make."""
    assert provider_name


def test_keeps_the_interface(provider: CompilationProvider) -> None:
    assert isinstance(provider, CompilationProvider)
    assert pickle.loads(pickle.dumps(provider)) == provider
    assert "/" not in provider.identity
    assert re.search(r"\d+\.\d+\.\d+", provider.identity)


def test_compiles_to_a_loadable_cubin(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    assembly = provider.compile(SM_80, store_kernel("store", "counter"), DEFAULT)
    assert isinstance(assembly, Assembly)
    assert re.search(r"type=(ET_EXEC|2),", cuobjdump(assembly.cubin, "--dump-elf"))
    assert "code for sm_80" in cuobjdump(assembly.cubin, "--dump-sass")
    assert set(registers(cuobjdump, assembly.cubin)) == {"store"}
    assert "counter" in cuobjdump(assembly.cubin, "--dump-elf-symbols")


def test_same_input_gives_the_same_bytes(provider: CompilationProvider) -> None:
    options = CompilationOptions(line_info=True)
    first, second = (provider.compile(SM_80, WITH_LINES, options).cubin for _ in range(2))
    assert first == second


def test_log_has_the_resource_usage(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    assembly = provider.compile(SM_80, many_live_values(count=100), DEFAULT)
    usage = resource_usage(assembly.log)["hungry"]
    assert usage.is_kernel
    assert usage.registers == registers(cuobjdump, assembly.cubin)["hungry"]
    assert usage.spill_store_bytes == 0


def test_relocatable_module_is_made_or_refused(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    if not provider.supports_compile_to_relocatable_module:
        with pytest.raises(UnavailableError, match=re.escape(provider.identity)):
            provider.compile_to_relocatable_module(SM_80, CALLER, DEFAULT, PLAIN)
        return
    for kind in (PLAIN, EWP):
        module = provider.compile_to_relocatable_module(SM_80, CALLER, DEFAULT, kind)
        if isinstance(module, DeferredModule):
            assert module.ptx == CALLER
            continue
        elf_type = int.from_bytes(module.cubin[16:18], "little")
        assert elf_type == {PLAIN: 1, EWP: 0xFF00}[module.kind]
        assert module.name == "caller"
        assert "first_helper" in cuobjdump(module.cubin, "--dump-elf-symbols")


def test_undefined_symbol_at_compile(provider: CompilationProvider) -> None:
    with pytest.raises(UnresolvedSymbolError) as raised:
        provider.compile(SM_80, CALLER, DEFAULT)
    assert "first_helper" in raised.value.symbols
    assert "first_helper" in raised.value.message


def test_linking_is_refused_where_unsupported(provider: CompilationProvider) -> None:
    if not provider.supports_compile_and_link:
        with pytest.raises(UnavailableError, match=re.escape(provider.identity)):
            provider.compile_and_link(SM_80, [store_kernel("store")], DEFAULT)


def test_undefined_symbols_at_link(linker: CompilationProvider) -> None:
    with pytest.raises(UnresolvedSymbolError) as raised:
        linker.compile_and_link(SM_80, [CALLER, store_kernel("store")], DEFAULT)
    assert set(raised.value.symbols) == {"first_helper", "second_helper"}


def assert_links_dependent_modules(
    provider: CompilationProvider, caller: LinkInput, helpers: LinkInput, cuobjdump: Cuobjdump
) -> None:
    assembly = provider.compile_and_link(SM_80, [caller, helpers, store_kernel("store")], DEFAULT)
    assert {"caller", "store"} <= set(registers(cuobjdump, assembly.cubin))
    sass = cuobjdump(assembly.cubin, "--dump-sass")
    assert "Function : first_helper" in sass
    assert "Function : second_helper" in sass


def test_links_dependent_ptx(linker: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    assert_links_dependent_modules(linker, CALLER, HELPERS, cuobjdump)


@pytest.mark.parametrize("form", ["relocatable", "mixed", "mixed the other way"])
def test_links_dependent_modules(module_linker: CompilationProvider, form: str, cuobjdump: Cuobjdump) -> None:
    caller = CALLER if form == "mixed" else relocatable(module_linker, CALLER)
    helpers = HELPERS if form == "mixed the other way" else relocatable(module_linker, HELPERS)
    assert_links_dependent_modules(module_linker, caller, helpers, cuobjdump)


def test_links_the_device_runtime(linker: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    file = find("libcudadevrt")
    if file is None:
        pytest.skip("no libcudadevrt in this environment")
    library = DeviceLibrary(Path(file.path).read_bytes(), "libcudadevrt.a")
    forms: list[LinkInput] = [LAUNCHER]
    if linker.supports_compile_to_relocatable_module:
        forms.append(relocatable(linker, LAUNCHER))
    for launcher in forms:
        assembly = linker.compile_and_link(SM_80, [launcher, library], DEFAULT)
        assert {"parent", "child"} < set(registers(cuobjdump, assembly.cubin))
        with pytest.raises(UnresolvedSymbolError) as raised:
            linker.compile_and_link(SM_80, [launcher], DEFAULT)
        assert set(raised.value.symbols) == {"__cudaCDP2GetParameterBufferV2", "__cudaCDP2LaunchDeviceV2"}
    with pytest.raises(InputError, match="nothing to link but libraries"):
        linker.compile_and_link(SM_80, [library], DEFAULT)


def test_links_modules_with_data_that_is_not_in_the_file(
    module_linker: CompilationProvider, cuobjdump: Cuobjdump
) -> None:
    for kind in (PLAIN, EWP):
        module = module_linker.compile_to_relocatable_module(SM_80, SHARED, DEFAULT, kind)
        assembly = module_linker.compile_and_link(
            SM_80, [module, relocatable(module_linker, store_kernel("store"))], DEFAULT
        )
        usage = cuobjdump(assembly.cubin, "--dump-resource-usage")
        assert re.search(r"Function shares:\s*REG:\d+ STACK:\d+ SHARED:40000", usage)


def test_links_modules_of_both_kinds(module_linker: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    closed = module_linker.compile_to_relocatable_module(SM_80, store_kernel("store"), DEFAULT, EWP)
    inputs = [closed, relocatable(module_linker, CALLER), relocatable(module_linker, HELPERS)]
    assembly = module_linker.compile_and_link(SM_80, inputs, DEFAULT)
    assert {"store", "caller"} <= set(registers(cuobjdump, assembly.cubin))


def test_joins_relocatable_modules(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    if not (provider.supports_link_to_relocatable_module and provider.supports_compile_to_relocatable_module):
        with pytest.raises(UnavailableError, match=re.escape(provider.identity)):
            provider.link_to_relocatable_module(SM_80, [store_kernel("store")], DEFAULT)
        return
    joined = provider.link_to_relocatable_module(
        SM_80, [relocatable(provider, CALLER), relocatable(provider, store_kernel("store"))], DEFAULT
    )
    assert int.from_bytes(joined.cubin[16:18], "little") == 1
    assembly = provider.compile_and_link(SM_80, [joined, relocatable(provider, HELPERS)], DEFAULT)
    assert {"store", "caller"} <= set(registers(cuobjdump, assembly.cubin))


def test_joined_modules_keep_their_shared_memory(module_linker: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    """The same addresses and sizes as without `-r` in between."""
    if not module_linker.supports_link_to_relocatable_module:
        pytest.skip("it cannot join modules")
    modules = [relocatable(module_linker, STATIC_MEMORY), relocatable(module_linker, SHARED)]
    linked = module_linker.compile_and_link(SM_80, modules, DEFAULT).cubin
    joined = module_linker.link_to_relocatable_module(SM_80, modules, DEFAULT)
    twice = module_linker.compile_and_link(SM_80, [joined], DEFAULT).cubin
    for what in ("--dump-sass", "--dump-resource-usage"):
        assert cuobjdump(twice, what) == cuobjdump(linked, what)


def test_extensible_modules_keep_their_shared_memory_or_are_not_joined(
    module_linker: CompilationProvider, cuobjdump: Cuobjdump
) -> None:
    module = module_linker.compile_to_relocatable_module(SM_80, SHARED, DEFAULT, EWP)
    if not module_linker.supports_link_to_relocatable_module:
        pytest.skip("it cannot join modules")
    try:
        joined = module_linker.link_to_relocatable_module(SM_80, [module], DEFAULT)
    except UnavailableError:
        return
    usage = cuobjdump(module_linker.compile_and_link(SM_80, [joined], DEFAULT).cubin, "--dump-resource-usage")
    assert re.search(r"Function shares:\s*REG:\d+ STACK:\d+ SHARED:40000", usage)


@pytest.mark.parametrize("order", [(16, 128), (128, 16), (128,)])
def test_dynamic_shared_memory_is_aligned(
    linker: CompilationProvider, order: tuple[int, ...], cuobjdump: Cuobjdump
) -> None:
    ptx = [dynamic_memory_kernel(f"aligned_{alignment}", alignment) for alignment in order]
    forms: list[list[LinkInput]] = [[*ptx]]
    if linker.supports_compile_to_relocatable_module:
        forms += [[linker.compile_to_relocatable_module(SM_80, p, DEFAULT, kind) for p in ptx] for kind in (PLAIN, EWP)]
    for inputs in forms:
        cubin = linker.compile_and_link(SM_80, largest_alignment_first(inputs), DEFAULT).cubin
        assert_aligned_to_128(cuobjdump(cubin, "--dump-sass"))


def test_dynamic_shared_memory_of_one_compile_is_aligned(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    cubin = provider.compile(SM_80, dynamic_memory_kernel("aligned_128", 128), DEFAULT).cubin
    assert_aligned_to_128(cuobjdump(cubin, "--dump-sass"))


def assert_aligned_to_128(sass: str) -> None:
    code = sass.split("Function : aligned_128")[1].split("Function : ")[0]
    stored = re.search(r"STG\S* \S+, (R\d+) ;", code)
    assert stored is not None
    address = re.search(rf"MOV\S* {stored[1]}, (?:RZ, RZ, )?(0x[0-9a-f]+) ;", code)
    assert address is not None, code
    assert int(address[1], 16) % 128 == 0


def test_a_symbol_defined_twice_is_an_error(linker: CompilationProvider) -> None:
    first, second = (Ptx(store_kernel(name, "counter").text, name) for name in ("one", "two"))
    forms: list[list[LinkInput]] = [[first, second]]
    if linker.supports_compile_to_relocatable_module:
        forms.append([relocatable(linker, first), relocatable(linker, second)])
    for inputs in forms:
        with pytest.raises(DuplicateSymbolError, match="'counter' is defined in one and again in two"):
            linker.compile_and_link(SM_80, inputs, DEFAULT)


def test_a_kernel_defined_twice_is_named(linker: CompilationProvider) -> None:
    with pytest.raises(DuplicateSymbolError) as raised:
        linker.compile_and_link(SM_80, [store_kernel("store"), store_kernel("store")], DEFAULT)
    assert raised.value.kernels == ("store",)


def test_a_linked_cubin_is_no_link_input(linker: CompilationProvider) -> None:
    cubin = linker.compile(SM_80, store_kernel("store"), DEFAULT).cubin
    with pytest.raises(InputError, match="already linked"):
        linker.compile_and_link(SM_80, [RelocatableModule(cubin, PLAIN, "store")], DEFAULT)


@pytest.mark.parametrize("cubin", [b"", b"hello", b"\x7fELF\x02\x01" + bytes(100)])
def test_damaged_link_input_is_an_error(linker: CompilationProvider, cubin: bytes) -> None:
    with pytest.raises(InputError, match="broken"):
        linker.compile_and_link(SM_80, [RelocatableModule(cubin, PLAIN, "broken")], DEFAULT)


def test_truncated_link_input_is_an_error(linker: CompilationProvider) -> None:
    cubin = linker.compile(SM_80, store_kernel("store"), DEFAULT).cubin
    for length in range(0, len(cubin), len(cubin) // 20):
        with pytest.raises(InputError):
            linker.compile_and_link(SM_80, [RelocatableModule(cubin[:length], PLAIN, "cut off")], DEFAULT)


def test_spills_are_found_when_asked_for(provider: CompilationProvider) -> None:
    allowed = CompilationOptions(max_registers=32)
    assembly = provider.compile(SM_80, many_live_values(), allowed)
    assert resource_usage(assembly.log)["hungry"].spill_store_bytes
    with pytest.raises(RegisterSpillError) as raised:
        provider.compile(SM_80, many_live_values(), CompilationOptions(max_registers=32, fail_on_spill=True))
    assert raised.value.kernels == ("hungry",)
    provider.compile(SM_80, store_kernel("store"), CompilationOptions(fail_on_spill=True))


def test_register_limit_is_obeyed(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    free = provider.compile(SM_80, many_live_values(), DEFAULT)
    limited = provider.compile(SM_80, many_live_values(), CompilationOptions(max_registers=64))
    assert registers(cuobjdump, free.cubin)["hungry"] > 64
    assert registers(cuobjdump, limited.cubin)["hungry"] <= 64


@pytest.mark.parametrize(("threads", "blocks", "limit"), [(1024, 1, 64), (512, 4, 32)])
def test_functions_are_held_to_the_launch_bounds_of_kernels(
    provider: CompilationProvider, threads: int, blocks: int, limit: int, cuobjdump: Cuobjdump
) -> None:
    """Where functions can be called from outside, compilers refuse what they compile well as a whole."""
    ptx = bounded_caller(threads, blocks)
    cubins = [provider.compile(SM_80, ptx, DEFAULT).cubin]
    if provider.supports_compile_to_relocatable_module:
        module = provider.compile_to_relocatable_module(SM_80, ptx, DEFAULT, PLAIN)
        if provider.supports_compile_and_link:
            cubins.append(provider.compile_and_link(SM_80, [module], DEFAULT).cubin)
        elif isinstance(module, RelocatableModule):
            cubins.append(module.cubin)
    for cubin in cubins:
        assert registers(cuobjdump, cubin)["bounded"] <= limit


def test_functions_of_another_module_that_use_too_many_registers(module_linker: CompilationProvider) -> None:
    """Nobody knew of the kernel when they were compiled."""
    text = bounded_caller(1024).text
    head, _, rest = text.partition("{\n")
    body, _, kernel = rest.partition("ret;\n}\n")
    function = Ptx(f"{head}{{\n{body}ret;\n}}\n", "function")
    caller = Ptx(head.replace(".visible .func", ".extern .func") + ";\n" + kernel, "caller")
    inputs = [relocatable(module_linker, ptx) for ptx in (function, caller)]
    if isinstance(inputs[0], DeferredModule):
        module_linker.compile_and_link(SM_80, inputs, DEFAULT)
        return
    with pytest.raises(RegisterAllocationError, match=r"--maxrregcount") as raised:
        module_linker.compile_and_link(SM_80, inputs, DEFAULT)
    assert raised.value.kernels == ("bounded",)
    assert raised.value.function_limit == 64


@pytest.mark.parametrize("name", ["sm_999", "sm_300a"])
def test_unknown_target(provider: CompilationProvider, name: str) -> None:
    with pytest.raises(TargetUnsupportedError, match=f"{name}") as raised:
        provider.compile(Target(name), store_kernel("store"), DEFAULT)
    assert re.search(r"(ptxas|nvptxcompiler|nvJitLink|driver) \d+\.\d+", raised.value.message)
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(("version", "written", "target"), [("7.8", "sm_90", "sm_80"), ("8.0", "sm_90a", "sm_90")])
def test_ptx_of_another_target(provider: CompilationProvider, version: str, written: str, target: str) -> None:
    if provider.latest_ptx_isa_version() < 80 and version == "8.0":
        pytest.skip(f"{provider.identity} does not know PTX {version}")
    if "driver" in provider.name and written == "sm_90a":
        pytest.skip("the driver compiles sm_90 for sm_90a where the GPU is one (580.159, H200)")
    header = f".version {version}\n.target {written}"
    ptx = Ptx(store_kernel("store").text.replace(".version 7.8\n.target sm_80", header), "mine")
    with pytest.raises(TargetMismatchError, match=f"PTX of mine is written for {written} .*compiled for {target}"):
        provider.compile(Target(target), ptx, DEFAULT)


def test_ptx_isa_version(provider: CompilationProvider) -> None:
    latest = provider.latest_ptx_isa_version()
    assert latest >= 78

    def with_version(number: int) -> Ptx:
        return Ptx(store_kernel("store").text.replace(".version 7.8", f".version {number // 10}.{number % 10}"))

    provider.compile(SM_80, with_version(latest), DEFAULT)
    with pytest.raises(PtxVersionError) as raised:
        provider.compile(SM_80, with_version(latest + 10), DEFAULT)
    assert raised.value.supported is not None
    assert raised.value.supported >= latest


def test_syntax_error_has_line_and_kernel(provider: CompilationProvider) -> None:
    good = store_kernel("store").text
    text = HEADER + good.removeprefix(HEADER) + store_kernel("second").text.removeprefix(HEADER)
    broken = text.replace("st.global", "st.globul").replace("st.globul", "st.global", 1)
    line = 1 + broken[: broken.index("st.globul")].count("\n")
    with pytest.raises(PtxSyntaxError) as raised:
        provider.compile(SM_80, Ptx(broken, "two kernels"), DEFAULT)
    assert raised.value.line == line
    assert raised.value.kernels == ("second",)
    assert "two kernels" in raised.value.message
    assert raised.value.log


@pytest.mark.parametrize("text", ["", "hello", "\n\n// nothing\n"])
def test_what_is_not_ptx_is_a_syntax_error(provider: CompilationProvider, text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        provider.compile(SM_80, Ptx(text), DEFAULT)


def test_a_failed_compile_does_not_change_the_next(provider: CompilationProvider) -> None:
    good = provider.compile(SM_80, store_kernel("store"), DEFAULT).cubin
    too_new = Ptx(store_kernel("store").text.replace(".version 7.8", ".version 99.9"))
    for _ in range(3):
        with pytest.raises(CompileError):
            provider.compile(SM_80, too_new, DEFAULT)
        with pytest.raises(UnresolvedSymbolError):
            provider.compile(SM_80, CALLER, DEFAULT)
        assert provider.compile(SM_80, store_kernel("store"), DEFAULT).cubin == good


def test_line_info_is_in_the_cubin(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    lines = CompilationOptions(line_info=True)
    without = provider.compile(SM_80, store_kernel("store"), DEFAULT)
    assert ".debug_line" not in cuobjdump(without.cubin, "--dump-elf")
    assert ".debug_line" in cuobjdump(provider.compile(SM_80, store_kernel("store"), lines).cubin, "--dump-elf")
    assert b"kernel.cu" in provider.compile(SM_80, WITH_LINES, lines).cubin


def test_debug_info_is_in_the_cubin(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    assembly = provider.compile(SM_80, WITH_LINES, CompilationOptions(debug_info=True))
    assert ".debug_frame" in cuobjdump(assembly.cubin, "--dump-elf")
    assert ".debug_line" in cuobjdump(assembly.cubin, "--dump-elf")


def test_optimisation_level_reaches_the_compiler(provider: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    sass = {
        level: cuobjdump(
            provider.compile(SM_80, LOOP, CompilationOptions(opt_level=level)).cubin,
            "--dump-sass",
        )
        for level in (0, 1, 3)
    }
    assert len(set(sass.values())) == 3


FIRST_RELEASE: dict[FastCompile, tuple[int, int]] = {"min": (12, 9), "mid": (12, 9), "max": (12, 5)}


@pytest.mark.parametrize("level", FIRST_RELEASE)
def test_fast_compile_level_is_taken_or_refused(
    provider: CompilationProvider, level: FastCompile, cuobjdump: Cuobjdump
) -> None:
    fast = CompilationOptions(fast_compile=level)
    release = re.search(r"(\d+)\.(\d+)", provider.identity)
    assert release
    if "driver" in provider.name or (int(release[1]), int(release[2])) < FIRST_RELEASE[level]:
        with pytest.raises(UnavailableError, match="fast-compile level"):
            provider.compile(SM_80, LOOP, fast)
        return
    cubins = [provider.compile(SM_80, LOOP, options).cubin for options in (fast, DEFAULT)]
    assert len({cuobjdump(cubin, "--dump-sass") for cubin in cubins}) == 2
    if provider.supports_compile_to_relocatable_module and provider.supports_compile_and_link:
        module = provider.compile_to_relocatable_module(SM_80, store_kernel("store"), fast, PLAIN)
        assert provider.compile_and_link(SM_80, [module], fast).cubin


def test_parallel_use(provider: CompilationProvider) -> None:
    names = [f"kernel_{i}" for i in range(24)]
    alone = {name: provider.compile(SM_80, store_kernel(name), DEFAULT).cubin for name in names}

    def work(name: str) -> bytes:
        with pytest.raises(PtxSyntaxError):
            provider.compile(SM_80, Ptx(HEADER + "nonsense;\n"), DEFAULT)
        return provider.compile(SM_80, store_kernel(name), DEFAULT).cubin

    with ThreadPoolExecutor(8) as pool:
        assert dict(zip(names, pool.map(work, names), strict=True)) == alone


def test_links_a_thousand_modules(module_linker: CompilationProvider, cuobjdump: Cuobjdump) -> None:
    module = module_linker.compile_to_relocatable_module(SM_80, store_kernel("kernel_0000"), DEFAULT, PLAIN)
    names = [f"kernel_{i:04}" for i in range(1000)]
    inputs: list[LinkInput]
    if isinstance(module, RelocatableModule):
        inputs = [RelocatableModule(module.cubin.replace(b"kernel_0000", name.encode()), PLAIN, name) for name in names]
    else:
        names = names[:50]
        inputs = [DeferredModule(store_kernel(name)) for name in names]
    assembly = module_linker.compile_and_link(SM_80, inputs, DEFAULT)
    assert set(registers(cuobjdump, assembly.cubin)) == set(names)
