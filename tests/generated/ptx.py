"""Programs as PTX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.generated.description import (
    DEPTH,
    THREADS,
    Alias,
    Arithmetic,
    Assignment,
    Call,
    CallEither,
    CallPointer,
    Count,
    Division,
    Exchange,
    Follow,
    Function,
    Kernel,
    Lookup,
    Program,
    Role,
    Scratch,
    Shuffle,
    Step,
    Update,
    Variable,
    Vote,
)

_PARAMETERS = "(.param .b32 x.in, .param .b32 n.in)".replace(".in", "$in")
_PROTOTYPE = "(.param .b32 _) _ (.param .b32 _, .param .b32 _)"


def render(program: Program, module: int = 0) -> str:
    """One of the program's modules.

    Traits of programs: `comments` between statements, `crowded` (several statements a line). Of functions and kernels:
    `shadows` (has a register that is called like a variable); of functions: `declared_twice` (in
    front of its definition); of kernels: `maxntid`, `minnctapersm`; of variables: `generic_address` (holds addresses as
    `generic(v)`), `bytes` (in bytes in place of words), `joined` (in one statement with the next), `unsized` (without a
    number of elements), `offset` (pointers to the second element).
    """
    return _Module(program, module).text()


class _Module:
    def __init__(self, program: Program, module: int) -> None:
        self.program = program
        self._part = program.parts(module)

    def name(self, name: str) -> str:
        return self.program.written(name)

    def text(self) -> str:
        program, part = self.program, self._part
        kernels = [kernel for kernel in program.kernels if kernel.name in part.defined]
        functions = [function for function in program.functions if function.name in part.defined]
        aliases = [alias for alias in program.aliases if alias.name in part.defined]
        others: tuple[Function | Alias, ...] = (*program.functions, *program.aliases)
        declared = [s for s in others if s.name in part.declared]
        statements = [
            *(f"{self.signature(f)};" for f in functions),
            *(f"{self.signature(f)};" for f in functions if "declared_twice" in f.traits),
            *(f"{self.signature(a)};" for a in aliases),
            *(f"{self.signature(s, 'extern')};" for s in declared),
            *self._variables(),
            *(_Body(self, kernel).text() for kernel in kernels[::2]),
            *(_Body(self, function).text() for function in functions),
            *(f".alias {self.name(a.name)}, {self.name(a.aliasee)};" for a in aliases),
            *(_Body(self, kernel).text() for kernel in kernels[1::2]),
        ]
        if "comments" in program.traits:
            statements = [f'/* {i}; {{ */ {s} // }} "; .visible .entry' for i, s in enumerate(statements)]
        separator = " " if "crowded" in program.traits and "comments" not in program.traits else "\n"
        return "\n".join(
            [
                "// .version 1.0 ; { a comment",
                ".version 8.0",
                ".target sm_80",
                ".address_size 64",
                separator.join(statements),
                '.file 1 "dir/a.cu"',
                '.file 2 "dir/b } ; {.cuh", 1700000000, 12',
                '.file 3 "dir/c.cuh"',
                "",
            ]
        )

    def signature(self, function: Function | Alias, linkage: str | None = None) -> str:
        word = function.linkage if linkage is None else linkage
        return f"{_linkage(word)}.func (.param .b32 y$out) {self.name(function.name)}{_PARAMETERS}"

    def _variables(self) -> Iterator[str]:
        joined = ""
        for v in self.program.variables:
            if v.name in self._part.declared:
                yield f"{_declaration(replace(v, linkage='extern'))} {self.name(v.name)}[{_elements(v)}];"
        variables = [v for v in self.program.variables if v.name in self._part.defined]
        for v, following in zip(variables, (*variables[1:], None)[: len(variables)], strict=True):
            joined += self._declarator(v) if joined else f"{_declaration(v)} {self._declarator(v)}"
            if "joined" in v.traits and following and _declaration(v) == _declaration(following):
                joined += ", "
                continue
            yield f"{joined};"
            joined = ""

    def space(self, name: str) -> str:
        return self.program.variable[name].space

    def _declarator(self, v: Variable) -> str:
        name = self.name(v.name)
        if v.role is Role.DYNAMIC:
            return f"{name}[]"
        if v.holds_addresses:
            value = ", ".join(self._address(v, target) for target in v.targets)
        elif _in_bytes(v):
            value = ", ".join(str(byte) for word in v.words for byte in word.to_bytes(4, "little"))
        else:
            value = ", ".join(map(str, v.words))
        if not value:
            return f"{name}[{_elements(v)}]"
        return f"{name}[{'' if 'unsized' in v.traits else _elements(v)}] = {{{value}}}"

    def _address(self, v: Variable, target: str) -> str:
        name = self.name(target)
        if "generic_address" in v.traits and v.role is Role.POINTERS:
            name = f"generic({name})"
        return f"{name}+4" if "offset" in v.traits else name


def _linkage(word: str) -> str:
    return f".{word} " if word else ""


def _in_bytes(v: Variable) -> bool:
    return "bytes" in v.traits and not v.holds_addresses


def _declaration(v: Variable) -> str:
    type_ = ".u64" if v.holds_addresses else ".b8" if _in_bytes(v) else ".u32"
    return f"{_linkage(v.linkage)}.{v.space} .align {v.alignment} {type_}"


def _elements(v: Variable) -> int:
    return v.size if _in_bytes(v) else v.count


class _Body:
    """The body of a function or kernel. `%x` is the value, `%n` the depth, `%t` the thread."""

    def __init__(self, module: _Module, owner: Function | Kernel) -> None:
        self.module, self.owner = module, owner
        self.program = module.program
        self._lines: list[str] = []
        self._number = 0
        self._arrays: list[str] = []

    def text(self) -> str:
        if isinstance(self.owner, Kernel):
            self._kernel(self.owner)
        else:
            self.add("ld.param.b32 %x, [x$in]; ld.param.b32 %n, [n$in]; mov.u32 %t, %tid.x;")
            self._steps(self.owner.steps)
            self.add("st.param.b32 [y$out], %x; ret;")
        return "\n".join(
            [
                self._header(),
                "{",
                "\t.reg .b32 %x, %n, %t, %r<9>;",
                "\t.reg .b64 %rd<9>;",
                "\t.reg .f32 %f<3>;",
                "\t.reg .f64 %fd<3>;",
                "\t.reg .pred %q<3>;",
                *self._arrays,
                *([f"\t{self.owner.comment}"] if self.owner.comment else []),
                *self._lines,
                "}",
            ]
        )

    def _header(self) -> str:
        owner = self.owner
        if isinstance(owner, Function):
            return self.module.signature(owner)
        bounds = f"\n.maxntid {THREADS}, 1, 1" if {"maxntid", "minnctapersm"} & owner.traits else ""
        bounds += "\n.minnctapersm 2" if "minnctapersm" in owner.traits else ""
        return f"{_linkage(owner.linkage)}.entry {self.name(owner.name)}(.param .u64 p$in){bounds}"

    def _kernel(self, kernel: Kernel) -> None:
        self.add("ld.param.u64 %rd1, [p$in]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %t, %tid.x;")
        self.add("mad.wide.u32 %rd2, %t, 4, %rd1; ld.global.u32 %x, [%rd2];")
        if kernel.depth is None:
            self.add(f"ld.global.u32 %n, [%rd1+{4 * THREADS}]; and.b32 %n, %n, {DEPTH};")
        else:
            self.add(f"mov.u32 %n, {kernel.depth};")
        for counter in kernel.counters:
            self.add(f"ld.global.u32 %r1, [{self.name(counter)}]; add.u32 %x, %x, %r1;")
        for shared in self.program.shared_memory(kernel):
            self._place(shared, "%t")
            self.add("mul.lo.u32 %r1, %t, 7; st.shared.u32 [%rd3], %r1;")
        self.add("bar.sync 0;")
        self._steps(kernel.steps)
        self.add("bar.sync 0;")
        for assignment in kernel.assignments:
            self._assign(assignment)
        self.add("ld.param.u64 %rd1, [p$in]; cvta.to.global.u64 %rd1, %rd1;")
        self.add("mad.wide.u32 %rd2, %t, 4, %rd1; st.global.u32 [%rd2], %x; ret;")

    def name(self, name: str) -> str:
        return self.module.name(name)

    def add(self, line: str) -> None:
        self._lines.append(f"\t{line}")

    def _new(self) -> int:
        self._number += 1
        return self._number

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._step(step)
        if "shadows" in self.owner.traits:
            # Not a function's name: ptxas 13.5 can then lose that function ("Undefined reference").
            name = self.name(self.program.variables[0].name)
            self.add(f"{{ .reg .b32 {name}; mov.b32 {name}, %x; mov.b32 %x, {name}; }}")

    def _place(self, variable: str, index: str, scale: int = 4) -> None:
        """Makes `%rd3` the address of an element."""
        self.add(f"mov.u64 %rd3, {self.name(variable)}; mad.wide.u32 %rd3, {index}, {scale}, %rd3;")

    def _step(self, step: Step) -> None:
        program = self.program
        match step:
            case Arithmetic(operation, value):
                opcode = {"mul": "mul.lo.u32", "add": "add.u32", "sub": "sub.u32"}.get(operation, f"{operation}.b32")
                self.add(f"{opcode} %x, %x, {value};")
            case Division(kind, value):
                self._division(kind, value)
            case Call(function, guarded=False):
                self._call(self.name(function), "%n", "")
            case Call(function):
                self._guarded(self.name(function), "")
            case CallPointer(table, offset, annotated):
                self.add(f"add.u32 %r1, %x, {offset}; rem.u32 %r1, %r1, {program.variable[table].count};")
                self._place(table, "%r1", 8)
                self.add(f"ld.{self.module.space(table)}.u64 %rd4, [%rd3];")
                targets = dict.fromkeys(program.pointees(table)) if annotated else {}
                self._guarded("%rd4", ", ".join(map(self.name, targets)) or _PROTOTYPE, listed=bool(targets))
            case CallEither(first, second):
                self.add(f"and.b32 %r1, %x, 1; setp.ne.u32 %q1, %r1, 0; mov.u64 %rd4, {self.name(first)};")
                self.add(f"mov.u64 %rd5, {self.name(second)};")
                self.add("selp.b64 %rd4, %rd4, %rd5, %q1;")
                self._guarded("%rd4", _PROTOTYPE)
            case Lookup(table, index):
                space = self.module.space(table)
                if index is None:
                    self.add(f"rem.u32 %r1, %x, {program.variable[table].count};")
                    self._place(table, "%r1")
                    self.add(f"ld.{space}.u32 %r2, [%rd3]; xor.b32 %x, %x, %r2;")
                else:
                    self.add(f"ld.{space}.u32 %r2, [{self.name(table)}+{4 * index}]; xor.b32 %x, %x, %r2;")
            case Follow(pointers):
                self._follow(pointers)
            case Update(slots, factor):
                space = self.module.space(slots)
                self._place(slots, "%t")
                self.add(f"ld.{space}.u32 %r1, [%rd3]; mad.lo.u32 %x, %r1, {factor}, %x; st.{space}.u32 [%rd3], %x;")
            case Count(counter, mask):
                self.add(f"and.b32 %r1, %x, {mask}; atom.global.add.u32 %r2, [{self.name(counter)}], %r1;")
            case Scratch(size):
                self._scratch(size)
            case Exchange(shared, distance):
                self._place(shared, "%t")
                self.add(f"st.shared.u32 [%rd3], %x; bar.sync 0; xor.b32 %r1, %t, {distance};")
                self._place(shared, "%r1")
                self.add("ld.shared.u32 %r2, [%rd3]; bar.sync 0; add.u32 %x, %x, %r2;")
            case Shuffle(distance):
                self.add(f"shfl.sync.bfly.b32 %r1, %x, {distance}, 31, -1; add.u32 %x, %x, %r1;")
            case Vote(mask):
                self.add(f"and.b32 %r1, %x, {mask}; setp.ne.u32 %q1, %r1, 0;")
                self.add("vote.sync.ballot.b32 %r2, %q1, -1; popc.b32 %r2, %r2; add.u32 %x, %x, %r2;")

    def _division(self, kind: str, value: int) -> None:
        self.add("or.b32 %r1, %x, 1;")
        match kind:
            case "u32":
                self.add(f"mov.u32 %r2, {value}; div.u32 %x, %r2, %r1;")
            case "u64":
                self.add(f"cvt.u64.u32 %rd3, %r1; mov.u64 %rd4, {value * 0x1_0000_0001}; div.u64 %rd3, %rd4, %rd3;")
                self.add("cvt.u32.u64 %x, %rd3;")
            case "f32":
                self.add(f"cvt.rn.f32.u32 %f1, %r1; mov.u32 %r2, {value}; cvt.rn.f32.u32 %f2, %r2;")
                self.add("div.rn.f32 %f1, %f2, %f1; mov.b32 %x, %f1;")
            case "f64":
                self.add(f"cvt.rn.f64.u32 %fd1, %r1; mov.u32 %r2, {value}; cvt.rn.f64.u32 %fd2, %r2;")
                self.add(
                    "div.rn.f64 %fd1, %fd2, %fd1; mov.b64 %rd3, %fd1; shr.u64 %rd3, %rd3, 19; cvt.u32.u64 %x, %rd3;"
                )

    def _call(self, callee: str, depth: str, targets: str, *, listed: bool = False) -> None:
        number = self._new()
        prototype = ""
        self.add(
            "{ .param .b32 call$x, call$n; .param .b32 call$y;".replace(
                "call$x, call$n;", "call$x; .param .b32 call$n;"
            )
        )
        self.add(f"st.param.b32 [call$x], %x; st.param.b32 [call$n], {depth};")
        if targets:
            prototype = f", kind${number}"
            word = ".calltargets" if listed else ".callprototype"
            self.add(f"kind${number}: {word} {targets};")
        self.add(f"call (call$y), {callee}, (call$x, call$n){prototype}; ld.param.b32 %x, [call$y]; }}")

    def _guarded(self, callee: str, targets: str, *, listed: bool = False) -> None:
        label = f"after${self._new()}"
        self.add(f"setp.eq.u32 %q2, %n, 0; @%q2 bra {label}; sub.u32 %r3, %n, 1;")
        self._call(callee, "%r3", targets, listed=listed)
        self.add(f"{label}:")

    def _follow(self, pointers: str) -> None:
        variable = self.program.variable[pointers]
        self.add(f"rem.u32 %r1, %x, {variable.count};")
        self._place(pointers, "%r1", 8)
        self.add(f"ld.{variable.space}.u64 %rd4, [%rd3];")
        offset = 1 if "offset" in variable.traits else 0
        least = min(self.program.variable[t].count for t in self.program.pointees(pointers)) - offset
        space = "" if "generic_address" in variable.traits else f".{self.module.space(variable.targets[0])}"
        self.add(f"rem.u32 %r1, %t, {least}; mad.wide.u32 %rd4, %r1, 4, %rd4; ld{space}.u32 %r2, [%rd4];")
        self.add("add.u32 %x, %x, %r2;")

    def _scratch(self, size: int) -> None:
        array = f"local${self._new()}"
        self._arrays.append(f"\t.local .align 4 .b32 {array}[{size}];")
        self.add(f"mov.u64 %rd3, {array};")
        for i in range(size):
            self.add(f"mov.u32 %r1, {i + 3}; st.local.u32 [%rd3+{4 * i}], %r1;")
        self.add(f"and.b32 %r1, %x, {size - 1}; mad.wide.u32 %rd4, %r1, 4, %rd3; st.local.u32 [%rd4], %x;")
        self.add(f"ld.local.u32 %r1, [%rd3]; ld.local.u32 %r2, [%rd3+{4 * size - 4}];")
        self.add("add.u32 %r1, %r1, %r2; add.u32 %x, %x, %r1;")

    def _assign(self, assignment: Assignment) -> None:
        variable = self.program.variable[assignment.pointers]
        offset = 4 if "offset" in variable.traits else 0
        self.add(f"mov.u64 %rd4, {self.name(assignment.target)}; add.u64 %rd4, %rd4, {offset};")
        if "generic_address" in variable.traits and variable.role is Role.POINTERS:
            self.add(f"cvta.{self.module.space(assignment.target)}.u64 %rd4, %rd4;")
        self.add(f"st.{variable.space}.u64 [{self.name(assignment.pointers)}+{8 * assignment.index}], %rd4;")
