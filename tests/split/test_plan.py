"""The plan: what meets in a shard, where variables are defined, and that it is local and depends on names alone."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from parcubin.errors import DuplicateSymbolError
from parcubin.split.grouping import MEAN_SHARD_COST
from parcubin.split.llvm_ir import LlvmOutline, outline_llvm_ir
from parcubin.split.plan import Plan, PlanKind, Shard, plan_shards
from tests.split.samples import HEADER, assembly, call, function, kernel, load, lookup, store

BUNDLE_AND_LINK: tuple[PlanKind, ...] = ("bundle", "link")
KINDS: tuple[PlanKind, ...] = (*BUNDLE_AND_LINK, "relocatable")


def outlines(*modules: str) -> list[LlvmOutline]:
    return [outline_llvm_ir(HEADER + text, f"module {number}") for number, text in enumerate(modules)]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard a kernel, wherever kernels need not stay together."""
    monkeypatch.setattr("parcubin.split.grouping.ALONE_COST", -1)


def together(plan: Plan) -> list[tuple[str, ...]]:
    """The kernels of each shard."""
    return [shard.kernels for shard in plan.shards]


def definitions(plan: Plan, name: str) -> list[tuple[str, ...]]:
    """The kernels of the shards that define a symbol."""
    return [shard.kernels for shard in plan.shards if any(name in part.define for part in shard.parts)]


def declarations(plan: Plan, name: str) -> list[tuple[str, ...]]:
    return [shard.kernels for shard in plan.shards if any(name in part.declare for part in shard.parts)]


TWO_USERS = load("a", "@v") + store("b", "@v") + kernel("c")


@pytest.mark.usefixtures("alone")
class TestVariables:
    @pytest.mark.parametrize(
        "variable",
        [
            "addrspace(1) global i32 0",
            "weak addrspace(1) global i32 0",
            "internal addrspace(1) externally_initialized global i32 0",
        ],
    )
    def test_of_the_host(self, variable: str) -> None:
        modules = outlines(f"@v = {variable}\n" + TWO_USERS)
        bundle, link = plan_shards(modules, "bundle"), plan_shards(modules, "link")
        assert together(bundle) == [("a", "b"), ("c",)]
        assert definitions(bundle, "v") == [("a", "b")]
        assert together(link) == [(), ("a",), ("b",), ("c",)]
        assert definitions(link, "v") == [()]
        assert declarations(link, "v") == [("a",), ("b",)]
        assert not any(link.rename)
        assert bundle.variables == link.variables == {"v"}

    @pytest.mark.parametrize("kind", KINDS)
    def test_of_the_host_that_no_kernel_uses(self, kind: PlanKind) -> None:
        plan = plan_shards(outlines("@v = addrspace(1) global i32 0\n" + kernel("a") + kernel("b")), kind)
        assert definitions(plan, "v") == [()]
        assert plan.variables == {"v"}

    @pytest.mark.parametrize("kind", KINDS)
    def test_are_in_the_only_shard_that_has_kernels(self, kind: PlanKind) -> None:
        variables = "@v = addrspace(1) global i32 0\n@w = internal addrspace(1) global i32 0\n"
        plan = plan_shards(outlines(variables + load("a", "@w")), kind)
        assert together(plan) == [("a",)]
        assert definitions(plan, "v") == definitions(plan, "w") == [("a",)]
        assert not any(plan.rename)

    def test_internal_and_mutable(self) -> None:
        modules = outlines("@v = internal addrspace(1) global i32 0\n" + TWO_USERS)
        bundle, link = plan_shards(modules, "bundle"), plan_shards(modules, "link")
        assert together(bundle) == [("a", "b"), ("c",)]
        assert definitions(link, "v") == [()]
        assert declarations(link, "v") == [("a",), ("b",)]
        assert link.rename[0].keys() == {"v"}
        assert not bundle.variables
        assert not link.variables

    def test_a_second_user_moves_no_variable(self) -> None:
        plan = plan_shards(
            outlines("@v = internal addrspace(1) global i32 0\n" + load("a", "@v") + kernel("c")), "link"
        )
        assert definitions(plan, "v") == [()]
        assert declarations(plan, "v") == [("a",)]

    def test_that_point_to_what_cannot_be_shared_are_defined_once(self) -> None:
        modules = outlines(
            "@v.w = internal addrspace(1) externally_initialized global i32 0\n"
            "@p = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @v.w to ptr)\n"
            + load("a", "@v.w") + load("b", "@p") + kernel("c")
        )  # fmt: skip
        plan = plan_shards(modules, "link")
        assert together(plan) == [("a", "b"), ("c",)]
        assert [len(definitions(plan, name)) for name in ("p", "v.w")] == [1, 1]

    def test_constants_that_hold_addresses_of_functions_stay_with_the_functions(self) -> None:
        modules = outlines(
            "@v = addrspace(4) constant ptr @f\n@w = addrspace(4) constant i32 1\n@t = addrspace(1) global ptr @f\n"
            + function("f") + lookup("a", "@w", 4) + kernel("c")
        )  # fmt: skip
        plan = plan_shards(modules, "link")
        assert definitions(plan, "v") == definitions(plan, "t") == definitions(plan, "f") == [()]

    def test_that_hold_addresses_of_functions_stay_with_the_functions(self) -> None:
        modules = outlines("@v = internal addrspace(1) global ptr @f\n" + function("f") + load("a", "@v") + kernel("c"))
        plan = plan_shards(modules, "link")
        assert definitions(plan, "v") == definitions(plan, "f") == [("a",)]

    def test_constants_are_copied(self) -> None:
        modules = outlines("@v = internal addrspace(1) constant i32 0\n" + load("a", "@v") + load("b", "@v"))
        for kind in BUNDLE_AND_LINK:
            assert definitions(plan_shards(modules, kind), "v") == [("a",), ("b",)]

    def test_constants_in_the_constant_bank_are_copied_in_a_bundle_only(self) -> None:
        modules = outlines(
            "@v = internal addrspace(4) constant [2 x i32] zeroinitializer\n"
            + lookup("a", "@v", 4)
            + lookup("b", "@v", 4)
        )
        assert definitions(plan_shards(modules, "bundle"), "v") == [("a",), ("b",)]
        relocatable = plan_shards(modules, "relocatable")
        assert definitions(relocatable, "v") == [()]
        assert declarations(relocatable, "v") == [("a",), ("b",)]
        assert [shard.constants for shard in relocatable.shards] == [True, True, True]

    def test_a_shared_variable_may_point_to_constants(self) -> None:
        modules = outlines(
            "@v = addrspace(4) constant [2 x i32] zeroinitializer\n"
            "@pointer = addrspace(1) global ptr addrspacecast (ptr addrspace(4) @v to ptr)\n"
            + lookup("a", "@v", 4)
            + load("b", "@pointer")
            + store("c", "@pointer")
        )
        link = plan_shards(modules, "link")
        assert definitions(link, "pointer") == [()]
        assert (definitions(link, "v"), declarations(link, "v")) == ([("a",)], [()])

    def test_one_shard_that_uses_the_constant_bank_defines_all_of_it(self) -> None:
        modules = outlines(
            "@v = internal addrspace(4) constant [2 x i32] zeroinitializer\n"
            "@w = addrspace(4) externally_initialized constant [2 x i32] zeroinitializer\n"
            + lookup("a", "@v", 4)
            + lookup("b", "@w", 4)
            + kernel("c")
        )
        link = plan_shards(modules, "link")
        ((home,),) = {tuple(definitions(link, name)) for name in "vw"}
        (other,) = {("a",), ("b",)} - {home}
        assert declarations(link, "w" if home == ("a",) else "v") == [other]
        assert [(s.constants, s.defines_constants) for s in link.shards] == [
            (True, home == ("a",)),
            (True, home == ("b",)),
            (False, False),
        ]

    def test_what_no_other_shard_uses_of_the_constant_bank_is_there_too(self) -> None:
        modules = outlines(
            "@v = addrspace(4) constant [2 x i32] zeroinitializer\n"
            "@unused = addrspace(4) externally_initialized constant [2 x i32] zeroinitializer\n"
            "@global = addrspace(1) global i32 0\n" + lookup("a", "@v", 4) + kernel("b")
        )
        link = plan_shards(modules, "link")
        assert definitions(link, "v") == definitions(link, "unused") == [("a",)]
        assert definitions(link, "global") == [()]
        assert [shard.defines_constants for shard in link.shards] == [False, True, False]

    def test_of_the_constant_bank_that_every_file_may_define_are_one_in_a_link(self) -> None:
        """Linkers forget addresses in a constant bank that refers to a constant that they merge away."""
        constants = (
            "@v = linkonce_odr addrspace(4) constant i32 1\n"
            "@{0} = addrspace(4) externally_initialized global ptr addrspacecast (ptr addrspace(4) @v to ptr)\n"
        )
        modules = outlines(
            *(
                constants.format(f"p_{name}") + lookup(name, "@v", 4) + lookup(f"{name}_p", f"@p_{name}", 4)
                for name in "ab"
            )
        )
        for modules_of_link in (modules, modules[:1]):
            plan = plan_shards(modules_of_link, "link")
            (home,) = definitions(plan, "v")
            assert definitions(plan, "p_a") == [home]
            assert {home, *declarations(plan, "v")} >= {(name,) for name in "ab"[: len(modules_of_link)]}
            assert plan.rename[0]["v"] == "v"  # visible, and so not dropped where its shard does not need it

    def test_shared_memory_is_copied(self) -> None:
        modules = outlines("@v = addrspace(3) global [4 x i32] undef\n" + load("a", "@v", 3) + load("b", "@v", 3))
        for kind in KINDS:
            assert definitions(plan_shards(modules, kind), "v") == [("a",), ("b",)]

    def test_a_variable_takes_what_it_points_to_with_it(self) -> None:
        modules = outlines(
            "@v = internal addrspace(1) global i32 0\n"
            "@p = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @v to ptr)\n"
            + load("a", "@p")
            + load("b", "@v")
            + load("c", "@p")
        )
        assert together(plan_shards(modules, "bundle")) == [("a", "b", "c")]
        link = plan_shards(modules, "link")
        assert definitions(link, "p") == definitions(link, "v") == [()]

    def test_names_of_shared_variables_are_unique_and_survive_other_kernels(self) -> None:
        variables = "".join(
            f"@{name} = internal addrspace(1) global i32 0\n" for name in ("x.y", "x_y", '"x y"', '"x\\C3\\A9y"', "0")
        )
        kernels = "".join(
            load(f"l{number}", f"@{name}") + store(f"s{number}", f"@{name}")
            for number, name in enumerate(("x.y", "x_y", '"x y"', '"x\\C3\\A9y"', "0"))
        )
        names = plan_shards(outlines(variables + kernels), "link").rename[0]
        assert len(set(names.values())) == 5
        assert all(re.fullmatch(r"_\w*\$parcubin_\w+", name, re.A) for name in names.values())
        more = outlines(kernel("a_first"), variables + kernels + load("another", "@x_y"))
        assert plan_shards(more, "link").rename[1] == names

    def test_shared_variables_of_one_name_in_two_modules(self) -> None:
        first, second = (
            f"@v = internal addrspace(1) global i32 {value}\n" + load(f"l{value}", "@v") + store(f"s{value}", "@v")
            for value in (1, 2)
        )
        names = [m["v"] for m in plan_shards(outlines(first, second), "link").rename]
        assert len(set(names)) == 2
        assert [m["v"] for m in plan_shards(outlines(second, first), "link").rename] == names[::-1]

    def test_static_variables_of_the_host_that_ptx_spells_otherwise_keep_their_kernels_together(self) -> None:
        modules = outlines(
            "@v.w = internal addrspace(1) externally_initialized global i32 0\n" + TWO_USERS.replace("@v", "@v.w")
        )
        assert together(plan_shards(modules, "link")) == [("a", "b"), ("c",)]


@pytest.mark.usefixtures("alone")
class TestFunctions:
    def test_are_copied(self) -> None:
        modules = outlines(function("f") + call("a", "@f") + call("b", "@f"))
        for kind in BUNDLE_AND_LINK:
            assert definitions(plan_shards(modules, kind), "f") == [("a",), ("b",)]

    def test_all_that_handle_pointers_to_functions_are_in_one_shard(self) -> None:
        modules = outlines(
            "@table = internal constant [2 x ptr] [ptr @f, ptr @g]\n@held = addrspace(1) global ptr @g\n"
            + function("f") + function("g")
            + function("through", body="  %q = load ptr, ptr @table\n  %y = call i32 %q(i32 %x)\n  ret i32 %y\n")
            + kernel("takes", "  store ptr @f, ptr %p\n")
            + kernel("calls", "  %q = load ptr, ptr %p\n  %y = call i32 %q(i32 1)\n")
            + call("reaches", "@through") + load("reads_table", "@table", 0).replace("addrspace(0) ", "")
            + assembly("in_assembly", "call ($0), %rd1, (1), prototype;")
            + call("direct", "@f"),
            kernel("calls_elsewhere", "  %q = load ptr, ptr %p\n  %y = call i32 %q(i32 1)\n"),
        )  # fmt: skip
        for kind in BUNDLE_AND_LINK:
            plan = plan_shards(modules, kind)
            assert sorted(together(plan)) == [
                ("calls", "calls_elsewhere", "in_assembly", "reaches", "reads_table", "takes"),
                ("direct",),
            ]
            assert [shard.pointers for shard in plan.shards] == [True, False]

    def test_recursion(self) -> None:
        modules = outlines(
            function("f", body="  %y = call i32 @g(i32 %x)\n  ret i32 %y\n")
            + function("g", body="  %y = call i32 @f(i32 %x)\n  ret i32 %y\n") + call("a", "@f") + call("b", "@g")
        )  # fmt: skip
        plan = plan_shards(modules, "link")
        assert definitions(plan, "f") == definitions(plan, "g") == [("a",), ("b",)]

    def test_stay_callable_in_a_relocatable_module(self) -> None:
        modules = outlines(
            function("f", linkage="")
            + function("w", linkage="weak_odr")
            + function("i", linkage="linkonce_odr")
            + call("a", "@f")
        )
        plan = plan_shards(modules, "relocatable")
        assert sorted(name for shard in plan.shards for name in shard.exports) == ["f", "w"]
        assert definitions(plan, "i") == []

    def test_a_kernel_that_another_names_is_in_its_shard(self) -> None:
        modules = outlines(
            "declare ptx_kernel void @child(ptr)\n" + kernel("parent", "  store ptr @child, ptr %p\n") + kernel("c"),
            kernel("child"),
        )
        assert together(plan_shards(modules, "link")) == [("c",), ("child", "parent")]


@pytest.mark.usefixtures("alone")
class TestSeveralModules:
    def test_references_are_resolved(self) -> None:
        modules = outlines("declare i32 @f(i32)\n" + call("a", "@f"), function("f", linkage="") + call("b", "@f"))
        plan = plan_shards(modules, "bundle")
        assert together(plan) == [("a",), ("b",)]
        assert [[part.module for part in shard.parts] for shard in plan.shards] == [[0, 1], [1]]

    def test_names_are_compared_and_not_spellings(self) -> None:
        modules = outlines("declare i32 @f$x(i32)\n" + call("a", "@f$x"), function('"f$x"', linkage=""))
        assert [[part.module for part in shard.parts] for shard in plan_shards(modules, "link").shards] == [[0, 1]]

    @pytest.mark.parametrize("first", ["weak", "weak_odr", "linkonce", "linkonce_odr", "available_externally"])
    def test_a_strong_definition_wins(self, first: str) -> None:
        modules = outlines(function("f", linkage=first) + call("a", "@f"), function("f", 5, linkage=""))
        (shard,) = plan_shards(modules, "link").shards
        assert [part.define for part in shard.parts] == [{"a", "f"}, {"f"}]  # LLVM's linker takes the strong one

    def test_equal_definitions_do_not_tie_modules_together(self) -> None:
        first, second = (function("f", linkage="linkonce_odr") + call(name, "@f") for name in ("a", "b"))
        plan = plan_shards(outlines(first, second), "link")
        assert [[part.module for part in shard.parts] for shard in plan.shards] == [[0], [1]]

    def test_a_mergeable_variable_that_survives_is_one(self) -> None:
        modules = outlines(
            *(f"@v = linkonce_odr addrspace(1) global i32 0\n{use}" for use in (load("a", "@v"), store("b", "@v")))
        )
        assert plan_shards(modules, "bundle").mergeable == {"v"}
        assert together(plan_shards(modules, "bundle", once={"v"})) == [("a", "b")]

    @pytest.mark.parametrize("kind", BUNDLE_AND_LINK)
    def test_weak_definitions_of_a_variable_meet_so_that_the_right_one_wins(self, kind: PlanKind) -> None:
        modules = outlines(
            "@v = common addrspace(1) global i32 0\n" + load("a", "@v"),
            "@v = common addrspace(1) global [9 x i32] zeroinitializer\n" + load("b", "@v"),
        )
        (shard,) = plan_shards(modules, kind).shards
        assert [part.define for part in shard.parts] == [{"v", "a"}, {"v", "b"}]

    @pytest.mark.parametrize(
        ("first", "second", "name"),
        [
            (kernel("k"), kernel("k"), "kernel 'k'"),
            (kernel("k"), kernel("k", words="internal "), "kernel 'k'"),
            (kernel("k", words="internal "), kernel("k", words="internal "), "kernel 'k'"),
            (function("f", linkage=""), function("f", linkage=""), "function 'f'"),
            ("@v = addrspace(1) global i32 0\n", "@v = addrspace(1) global i32 0\n", "variable 'v'"),
            (
                "@v = addrspace(1) global i32 0\n",
                "@v = internal addrspace(1) externally_initialized global i32 0\n",
                "variable 'v'",
            ),
            (
                "@v.w = internal addrspace(1) externally_initialized global i32 0\n",
                "@v.w = internal addrspace(1) externally_initialized global i32 0\n",
                "variable 'v_$_w'",
            ),
        ],
    )  # fmt: skip
    def test_what_is_defined_twice_is_an_error_that_names_both(self, first: str, second: str, name: str) -> None:
        for kind in KINDS:
            with pytest.raises(DuplicateSymbolError, match=f"{name.replace('$', '.')}.*module 0 and in module 1"):
                plan_shards(outlines(first, second), kind)

    def test_weak_kernels_may_be_defined_twice(self) -> None:
        text = kernel("k", words="weak_odr ")
        plan = plan_shards(outlines(text + kernel("a"), text + kernel("b")), "link")
        assert together(plan) == [("a",), ("b",), ("k",)]

    def test_modules_with_other_flags_do_not_meet_in_a_shard(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        flags = '!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !"flag", i32 {0}}}\n'
        variable = "@{0} = addrspace(1) global i32 0\n"
        modules = outlines(
            *(
                kernel(name) + variable.format(f"v_{name}") + flags.format(value)
                for name, value in (("a", 1), ("b", 2), ("c", 1))
            )
        )
        plan = plan_shards(modules, "link")
        assert sorted(together(plan)) == [(), (), ("a", "c"), ("b",)]
        alone = [set().union(*(p.define for p in s.parts)) for s in plan.shards if not s.kernels]
        assert sorted(alone, key=len) == [{"v_b"}, {"v_a", "v_c"}]

    @pytest.mark.parametrize("kind", BUNDLE_AND_LINK)
    def test_a_module_that_cannot_be_split_is_in_one_shard_with_all_that_use_it(self, kind: PlanKind) -> None:
        whole = 'module asm "// text"\n@v = addrspace(1) global i32 0\n@w = addrspace(1) global i32 0\n' + function(
            "f", linkage=""
        )
        modules = outlines(
            whole + kernel("a") + kernel("b"), "declare i32 @f(i32)\n" + call("c", "@f"),
            "@v = external addrspace(1) global i32\n" + load("d", "@v"), kernel("e"),
        )  # fmt: skip
        plan = plan_shards(modules, kind)
        assert together(plan) == [("a", "b", "c", "d"), ("e",)]
        assert [[p.module for p in shard.parts] for shard in plan.shards] == [[0, 1, 2], [3]]

    def test_a_module_of_assembly_alone_is_not_forgotten(self) -> None:
        plan = plan_shards(outlines('module asm ".visible .global .u32 v;"\n', kernel("a"), kernel("b")), "link")
        (shard,) = plan.shards
        assert [part.module for part in shard.parts] == [0, 1, 2]


def program(seed: int, kernels: int) -> dict[str, str]:
    """Texts of functions by name: kernels of all sizes that call some of 40 helpers, which call each other."""
    rng = random.Random(seed)
    texts = {}
    for number in range(40):
        callees = [f"helper{rng.randrange(number)}" for _ in range(rng.randrange(3))] if number else []
        texts[f"helper{number}"] = function(f"helper{number}", body=_body(callees, rng.randrange(10, 400)))
    for number in range(kernels):
        callees = [f"helper{rng.randrange(40)}" for _ in range(rng.randrange(5))]
        body = "  %x = load i32, ptr %p, align 4\n" + _body(callees, rng.randrange(10, 2500)).replace(
            "  ret i32 %x\n", ""
        )
        texts[f"kernel{number}"] = kernel(f"kernel{number}", body)
    return texts


def _body(callees: Sequence[str], size: int) -> str:
    calls = "".join(f"  %c{number} = call i32 @{callee}(i32 %x)\n" for number, callee in enumerate(callees))
    return calls + "".join(f"  %v{number} = mul i32 %x, {number}\n" for number in range(size)) + "  ret i32 %x\n"


def shards_of(texts: Mapping[str, str], kind: PlanKind) -> Counter[str]:
    """What is compiled: the rendered shards."""
    (outline,) = outlines("".join(texts.values()))
    plan = plan_shards([outline], kind)
    return Counter(outline.render(p.define, p.declare, plan.rename[p.module]) for s in plan.shards for p in s.parts)


def shards_touched(before: Counter[str], after: Counter[str]) -> int:
    """How many shards are no more, or are new, whichever is more."""
    return max(len(before - after), len(after - before))


@pytest.mark.parametrize("kind", BUNDLE_AND_LINK)
@pytest.mark.parametrize("seed", range(2))
def test_a_kernel_added_removed_or_changed_touches_two_shards_at_most(kind: PlanKind, seed: int) -> None:
    texts = program(seed, 120)
    before = shards_of(texts, kind)
    assert len(before) > 8
    rng = random.Random(seed)
    for name in rng.sample([name for name in texts if name.startswith("kernel")], 8):
        for statements in ("", "  store i32 7, ptr %p, align 4\n", "  store i32 7, ptr %p, align 4\n" * 900):
            assert shards_touched(before, shards_of(_with(texts, name, statements), kind)) <= 2


def test_so_does_a_kernel_of_a_link_that_uses_variables() -> None:
    """The second user of a variable moves nothing, nor does another user of the constant bank."""
    kinds = (
        "addrspace(1) global",
        "internal addrspace(1) global",
        "internal addrspace(1) externally_initialized global",
        "internal addrspace(4) constant",
        "addrspace(4) externally_initialized constant",
    )
    variables = {f"v{number}": f"@v{number} = {kinds[number % 5]} i32 7\n" for number in range(20)}
    rng = random.Random(1)

    def use(number: int) -> str:
        space = 4 if "addrspace(4)" in variables[f"v{number}"] else 1
        return f"  %v = load i32, ptr addrspace({space}) @v{number}\n  store i32 %v, ptr %p\n"

    texts = program(1, 120)
    users = rng.sample([name for name in texts if name.startswith("kernel")], 40)
    for number, name in enumerate(users):
        texts = _with(texts, name, use(number % 20))
    before = shards_of(texts | variables, "link")
    assert len(before) > 8
    for name in rng.sample(users, 8):
        assert shards_touched(before, shards_of(_with(texts, name, "") | variables, "link")) <= 2
    for name in rng.sample(sorted(name for name in texts if name.startswith("kernel") and name not in users), 8):
        changed = _with(texts, name, use(rng.randrange(20)))
        assert shards_touched(before, shards_of(changed | variables, "link")) <= 2


def _with(texts: Mapping[str, str], name: str, statements: str) -> dict[str, str]:
    """The program with more statements at the end of a function; without the function when there are none."""
    if not statements:
        return {other: text for other, text in texts.items() if other != name}
    return dict(texts) | {name: texts[name].replace("  ret void", f"{statements}  ret void")}


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_symbols_and_modules_does_not_matter(kind: PlanKind) -> None:
    first, second = (
        program(1, 60),
        {name.replace("ker", "other_ker"): text.replace("@ker", "@other_ker") for name, text in program(2, 60).items()},
    )

    def planned(first: Sequence[str], second: Sequence[str], swap: bool) -> list[object]:
        modules = outlines(*(["".join(second), "".join(first)] if swap else ["".join(first), "".join(second)]))
        plan = plan_shards(modules, kind)
        return [(s.kernels, s.cost, {(p.module != swap, p.define, p.declare) for p in s.parts}) for s in plan.shards]

    expected = planned(list(first.values()), list(second.values()), False)
    rng = random.Random(3)
    for swap in (False, True):
        shuffled, shuffled_too = (rng.sample(list(texts.values()), len(texts)) for texts in (first, second))
        assert planned(shuffled, shuffled_too, swap) == expected


def test_shards_are_of_a_size_that_is_worth_a_process() -> None:
    modules = outlines("".join(program(4, 400).values()))
    plan = plan_shards(modules, "bundle")
    costs = [shard.cost for shard in plan.shards]
    assert MEAN_SHARD_COST / 3 < sum(costs) / len(costs) < MEAN_SHARD_COST * 3
    assert max(costs) < MEAN_SHARD_COST * 10


def _kernel_names(shards: Sequence[Shard]) -> list[str]:
    return sorted(name for shard in shards for name in shard.kernels)


def test_twenty_thousand_small_kernels() -> None:
    """Anything that takes time in proportion to the square of the kernels runs into the test's time limit."""
    names = [f"k{number}" for number in range(20_000)]
    plan = plan_shards(outlines("".join(kernel(name, "  store i32 1, ptr %p, align 4\n") for name in names)), "link")
    assert _kernel_names(plan.shards) == sorted(names)
    assert 2 < len(plan.shards) < 50


def test_five_thousand_kernels_that_share_five_hundred_helpers() -> None:
    helpers = "".join(
        function(f"f{n}", body=f"  %y = call i32 @f{n + 1}(i32 %x)\n  ret i32 %y\n" if n < 499 else None)
        for n in range(500)
    )
    plan = plan_shards(outlines(helpers + "".join(call(f"k{n}", f"@f{n % 10}") for n in range(5_000))), "link")
    assert len(_kernel_names(plan.shards)) == 5_000
    assert len(plan.shards) < 30
