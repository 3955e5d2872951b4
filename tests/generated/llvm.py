"""Programs as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import overload

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
from tests.generated.names import spelled

_SPACES = {"generic": 0, "global": 1, "shared": 3, "const": 4}
_INTRINSICS = (
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
    "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)",
    "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)",
    "declare i32 @llvm.ctpop.i32(i32)",
)
_BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
_THREAD = "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
_TYPE_TRAITS = frozenset({"constant", "named_type", "externally_initialized"})
_KIND = '!{!"of a symbol", i32 7}'
_TYPE = '%"struct. of {{words}} {}"'


def render(program: Program, module: int = 0) -> str:
    """One of the program's modules, in the form in which LLVM prints one, but where it quotes names needlessly.

    Traits of programs: `line_info`, `flags`, `metadata`, `needless_quotes`. Of all symbols: `comdat`, `hidden`,
    `unnamed_addr`, `section`, `dso_local`, `metadata`; of functions and kernels: `attributes`; of functions `noinline`,
    `alwaysinline`, `optnone`; of kernels `annotated` (for a kernel by `!nvvm.annotations`), `bounds`; of variables
    `constant`, `externally_initialized`, `used`, `compiler_used`, `named_type`, `unnamed` (but for a number), `offset`
    (pointers to the second element).
    """
    return _Module(program, module).text()


class _Module:
    def __init__(self, program: Program, module: int) -> None:
        self.program = program
        self._part = program.parts(module)
        self._needlessly = "needless_quotes" in program.traits
        self._nodes: list[str] = []
        unnamed = (v.name for v in program.variables if "unnamed" in v.traits and v.name in self._part.defined)
        self._numbers = {name: str(number) for number, name in enumerate(unnamed)}
        self._scope = self._location = ""
        if "line_info" in program.traits:
            file = self.node('!DIFile(filename: "dir/a } ; { file.cu", directory: "/nowhere")')
            self._scope = self.node(
                f"distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: {file}, emissionKind: LineTablesOnly)"
            )

    def node(self, text: str) -> str:
        """A metadata node."""
        self._nodes.append(text)
        return f"!{len(self._nodes) - 1}"

    def symbol(self, name: str) -> str:
        if name in self._numbers:
            return f"@{self._numbers[name]}"
        return "@" + spelled(self.program.written(name), needlessly=self._needlessly)

    def pointer(self, name: str) -> str:
        """The address of a symbol, with its type."""
        space = _SPACES[self.program.variable[name].space] if name in self.program.variable else 0
        return f"ptr addrspace({space}) {self.symbol(name)}" if space else f"ptr {self.symbol(name)}"

    def pointer_type(self, name: str) -> str:
        return self.pointer(name).removesuffix(f" {self.symbol(name)}")

    def generic_pointer(self, name: str, offset: int) -> str:
        """The address of an element of a symbol as a constant of type `ptr`."""
        pointer = self.pointer(name)
        if pointer.startswith("ptr addrspace"):
            pointer = f"ptr addrspacecast ({pointer} to ptr)"
        return f"ptr getelementptr (i32, {pointer}, i64 {offset})" if offset else pointer

    def text(self) -> str:
        program, part = self.program, self._part
        body = [
            *(self._variable(number, v) for number, v in enumerate(program.variables) if self._has(v)),
            *self._used_lists(),
            "",
            *(self._alias(alias) for alias in program.aliases if alias.name in part.defined),
            *(
                line
                for o in program.kernels_and_functions
                if o.name in part.defined
                for line in (*_Body(self, o).lines(), "")
            ),
            *(
                line
                for function in program.functions
                if function.name in part.available
                for line in (*_Body(self, _available(function)).lines(), "")
            ),
            *(self._declaration(name) for name in sorted(part.declared) if name not in program.variable),
            *_INTRINSICS,
        ]
        named = list(self._named_metadata())
        return "\n".join(
            [
                "; ModuleID = 'generated } {'",
                'source_filename = "a } file.cu"',
                'target triple = "nvptx64-nvidia-cuda"',
                "",
                *(
                    f"{_TYPE.format(number)} = type {{ [{v.count} x {_element(v)}] }}"
                    for number, v in enumerate(program.variables)
                    if "named_type" in v.traits and self._has(v)
                ),
                *(
                    f"${spelled(program.written(s.name), needlessly=self._needlessly)} = comdat any"
                    for s in program.symbol.values()
                    if not isinstance(s, Alias) and "comdat" in s.traits and s.name in part.defined
                ),
                *body,
                "",
                'attributes #0 = { nounwind "no-builtins" "an=attribute"="{ } @nobody()" }',
                "",
                *named,
                *(f"!{number} = {node}" for number, node in enumerate(self._nodes)),
                "",
            ]
        )

    def _has(self, v: Variable) -> bool:
        return v.name in self._part.defined | self._part.available | self._part.declared

    def _declaration(self, name: str) -> str:
        """Of a function or alias."""
        symbol = self.program.symbol[name]
        linkage = "extern_weak " if isinstance(symbol, Function) and "extern_weak" in symbol.traits else ""
        return f"declare {linkage}i32 {self.symbol(name)}(i32, i32)"

    def _variable(self, number: int, v: Variable) -> str:
        if v.name in self._part.available:
            v = _available(v)
        is_declared = v.name in self._part.declared
        if is_declared:
            v = replace(
                v, linkage="extern_weak" if "extern_weak" in v.traits else "external", traits=v.traits & _TYPE_TRAITS
            )
        words = [v.linkage] if v.linkage else []
        words += [w for w in ("dso_local", "hidden", "unnamed_addr") if w in v.traits and v.linkage != "external"]
        if v.space != "generic":
            words.append(f"addrspace({_SPACES[v.space]})")
        words += [w for w in ("externally_initialized",) if w in v.traits]
        words.append("constant" if "constant" in v.traits else "global")
        count = 0 if v.role is Role.DYNAMIC else v.count
        type_ = f"[{count} x {_element(v)}]"
        value = "" if is_declared else self._initial_value(v)
        if "named_type" in v.traits:
            if value not in ("zeroinitializer", "undef", ""):
                value = f"{{ {type_} {value} }}"
            type_ = _TYPE.format(number)
        after = ', section "a section, align 3"' if "section" in v.traits else ""
        after += ", comdat" if "comdat" in v.traits else ""
        after += f", align {v.alignment}"
        if "metadata" in v.traits:
            after += f", !kind {self.node(_KIND)}"
        return f"{self.symbol(v.name)} = {' '.join(words)} {type_}{' ' if value else ''}{value}{after}"

    def _initial_value(self, v: Variable) -> str:
        if v.role is Role.DYNAMIC:
            return ""
        if v.role is Role.SHARED:
            return "undef"
        if v.holds_addresses:
            offset = 1 if "offset" in v.traits else 0
            elements = [self.generic_pointer(t, offset) for t in v.targets]
        else:
            elements = [f"i32 {_signed(w)}" for w in v.words]
        return f"[{', '.join(elements)}]" if elements else "zeroinitializer"

    def _used_lists(self) -> Iterator[str]:
        for trait, name in (("used", "llvm.used"), ("compiler_used", "llvm.compiler.used")):
            elements = [
                self.generic_pointer(v.name, 0)
                for v in self.program.variables
                if trait in v.traits and v.name in self._part.defined
            ]
            if elements:
                yield (
                    f"@{name} = appending global [{len(elements)} x ptr] [{', '.join(elements)}], "
                    'section "llvm.metadata"'
                )

    def _alias(self, alias: Alias) -> str:
        linkage = f"{alias.linkage} " if alias.linkage else ""
        return f"{self.symbol(alias.name)} = {linkage}alias i32 (i32, i32), ptr {self.symbol(alias.aliasee)}"

    def _named_metadata(self) -> Iterator[str]:
        annotations = []
        for kernel in self.program.kernels:
            if kernel.name not in self._part.defined:
                continue
            symbol = self.symbol(kernel.name)
            if "annotated" in kernel.traits:
                annotations.append(self.node(f'!{{ptr {symbol}, !"kernel", i32 1}}'))
                if "bounds" in kernel.traits:
                    annotations.append(self.node(f'!{{ptr {symbol}, !"maxntidx", i32 {THREADS}}}'))
        if annotations:
            yield f"!nvvm.annotations = !{{{', '.join(annotations)}}}"
        if "metadata" in self.program.traits:
            ident = self.node('!{!"a compiler, {not} @clang"}')
            yield f"!llvm.ident = !{{{ident}}}"
            first = self.node("!{i32 7, null}")
            about = self.node(f'!{{{first}, !"text"}}')
            yield f"!about.the.module = !{{{about}}}"
        flags = []
        if "line_info" in self.program.traits:
            yield f"!llvm.dbg.cu = !{{{self._scope}}}"
            flags.append(self.node('!{i32 2, !"Debug Info Version", i32 3}'))
        if "flags" in self.program.traits:
            flags.append(self.node('!{i32 1, !"wchar_size", i32 4}'))
            flags.append(self.node('!{i32 4, !"nvvm-reflect-ftz", i32 0}'))
        if flags:
            yield f"!llvm.module.flags = !{{{', '.join(flags)}}}"

    def subprogram(self, name: str) -> str:
        """Debug info of a function."""
        shown = spelled(name, needlessly=True)
        return self.node(
            f"distinct !DISubprogram(name: {shown}, scope: {self._scope}, file: !0, line: 3, "
            f"type: {self.node('!DISubroutineType(types: !{})')}, spFlags: DISPFlagDefinition, unit: {self._scope})"
        )


class _Body:
    """The body of a function or kernel."""

    def __init__(self, module: _Module, owner: Function | Kernel) -> None:
        self.module, self.owner = module, owner
        self.program = module.program
        self._lines: list[str] = []
        self._number = 0
        self._label = "entry"
        self._location = ""
        self._subprogram = ""
        if "line_info" in self.program.traits:
            self._subprogram = module.subprogram(owner.name)
            location = module.node(f"!DILocation(line: 5, column: 2, scope: {self._subprogram})")
            self._location = f", !dbg {location}"
        self.x, self.n, self.thread = "%x", "%n", ""

    def lines(self) -> list[str]:
        if isinstance(self.owner, Kernel):
            self._kernel(self.owner)
        else:
            self.thread = self.value(_THREAD)
            self._steps(self.owner.steps)
            self.add(f"ret i32 {self.x}")
        comment = [f"  {self.owner.comment}"] if self.owner.comment else []
        return [self._header(), "entry:", *comment, *self._lines, "}"]

    def _header(self) -> str:
        owner = self.owner
        words = ["define"]
        if owner.linkage:
            words.append(owner.linkage)
        words += [w for w in ("dso_local", "hidden") if w in owner.traits]
        if isinstance(owner, Kernel):
            if "annotated" not in owner.traits:
                words.append("ptx_kernel")
            words.append(f"void {self.module.symbol(owner.name)}(ptr noundef %p)")
        else:
            words.append(f"i32 {self.module.symbol(owner.name)}(i32 %x, i32 %n)")
        words += [w for w in ("unnamed_addr", "alwaysinline", "noinline") if w in owner.traits]
        words += ["noinline optnone"] if "optnone" in owner.traits else []
        if "bounds" in owner.traits and "annotated" not in owner.traits:
            words.append(f'"nvvm.maxntid"="{THREADS}"')
        words += ["#0"] if "attributes" in owner.traits else []
        words += ['section "a } section"'] if "section" in owner.traits else []
        words += ["comdat"] if "comdat" in owner.traits else []
        words += [f"!dbg {self._subprogram}"] if self._subprogram else []
        if "metadata" in owner.traits:
            words.append(f"!kind {self.module.node(_KIND)}")
        return " ".join([*words, "{"])

    def _kernel(self, kernel: Kernel) -> None:
        self.thread = self.value(_THREAD)
        own = self.value(f"getelementptr i32, ptr %p, i32 {self.thread}")
        self.x = self.value(f"load i32, ptr {own}, align 4")
        if kernel.depth is None:
            place = self.value(f"getelementptr i32, ptr %p, i32 {THREADS}")
            loaded = self.value(f"load i32, ptr {place}, align 4")
            self.n = self.value(f"and i32 {loaded}, {DEPTH}")
        else:
            self.n = str(kernel.depth)
        for counter in kernel.counters:
            self._add(self.value(f"load i32, {self.module.pointer(counter)}, align 4"))
        for shared in self.program.shared_memory(kernel):
            word = self.value(f"mul i32 {self.thread}, 7")
            self.add(f"store i32 {word}, {self._element_of(shared, self.thread)}, align 4")
        self.add(_BARRIER)
        self._steps(kernel.steps)
        self.add(_BARRIER)
        for assignment in kernel.assignments:
            self._assign(assignment)
        self.add(f"store i32 {self.x}, ptr {own}, align 4")
        self.add("ret void")

    # Instructions

    def add(self, instruction: str) -> None:
        located = "" if instruction.endswith(":") else self._location
        self._lines.append(f"{instruction}" if instruction.endswith(":") else f"  {instruction}{located}")

    def name(self) -> str:
        self._number += 1
        return f"%v{self._number}"

    def value(self, instruction: str) -> str:
        name = self.name()
        self.add(f"{name} = {instruction}")
        return name

    def _add(self, value: str) -> None:
        self.x = self.value(f"add i32 {self.x}, {value}")

    def _element_of(self, variable: str, index: str) -> str:
        """A pointer to a word, with its type."""
        pointer = self.module.pointer(variable)
        found = self.value(f"getelementptr i32, {pointer}, i32 {index}")
        return f"{self.module.pointer_type(variable)} {found}"

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._step(step)

    def _step(self, step: Step) -> None:
        program = self.program
        match step:
            case Arithmetic(operation, value):
                self.x = self.value(f"{operation} i32 {self.x}, {_signed(value)}")
            case Division(kind, value):
                self.x = self._division(kind, value)
            case Call(function, guarded=False):
                self.x = self.value(f"call i32 {self.module.symbol(function)}(i32 {self.x}, i32 {self.n})")
            case Call(function):
                self._guarded(lambda: self.module.symbol(function), "")
            case CallPointer(table, offset, annotated):
                pointers = ", ".join(f"ptr {self.module.symbol(f)}" for f in program.pointees(table))
                callees = f", !callees {self.module.node(f'!{{{pointers}}}')}" if annotated else ""
                self._guarded(lambda: self._loaded_pointer(table, offset), callees)
            case CallEither(first, second):
                self._guarded(lambda: self._either(first, second), "")
            case Lookup(table, index):
                at = (
                    str(index)
                    if index is not None
                    else self.value(f"urem i32 {self.x}, {program.variable[table].count}")
                )
                word = self.value(f"load i32, {self._element_of(table, at)}, align 4")
                self.x = self.value(f"xor i32 {self.x}, {word}")
            case Follow(pointers):
                pointer = self._loaded_pointer(pointers, 0)
                offset = 1 if "offset" in program.variable[pointers].traits else 0
                least = min(program.variable[t].count for t in program.pointees(pointers)) - offset
                own = self.value(f"urem i32 {self.thread}, {least}")
                place = self.value(f"getelementptr i32, ptr {pointer}, i32 {own}")
                self._add(self.value(f"load i32, ptr {place}, align 4"))
            case Update(slots, factor):
                place = self._element_of(slots, self.thread)
                word = self.value(f"load i32, {place}, align 4")
                self._add(self.value(f"mul i32 {word}, {factor}"))
                self.add(f"store i32 {self.x}, {place}, align 4")
            case Count(counter, mask):
                amount = self.value(f"and i32 {self.x}, {mask}")
                self.value(f"atomicrmw add {self.module.pointer(counter)}, i32 {amount} monotonic, align 4")
            case Scratch(size):
                self._scratch(size)
            case Exchange(shared, distance):
                self.add(f"store i32 {self.x}, {self._element_of(shared, self.thread)}, align 4")
                self.add(_BARRIER)
                other = self.value(f"xor i32 {self.thread}, {distance}")
                word = self.value(f"load i32, {self._element_of(shared, other)}, align 4")
                self.add(_BARRIER)
                self._add(word)
            case Shuffle(distance):
                self._add(
                    self.value(f"call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 {self.x}, i32 {distance}, i32 31)")
                )
            case Vote(mask):
                masked = self.value(f"and i32 {self.x}, {_signed(mask)}")
                predicate = self.value(f"icmp ne i32 {masked}, 0")
                ballot = self.value(f"call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {predicate})")
                self._add(self.value(f"call i32 @llvm.ctpop.i32(i32 {ballot})"))

    def _division(self, kind: str, value: int) -> str:
        odd = self.value(f"or i32 {self.x}, 1")
        if kind == "u32":
            return self.value(f"udiv i32 {_signed(value)}, {odd}")
        if kind == "u64":
            wide = self.value(f"zext i32 {odd} to i64")
            quotient = self.value(f"udiv i64 {value * 0x1_0000_0001}, {wide}")
            return self.value(f"trunc i64 {quotient} to i32")
        type_, bits, integer = ("float", 0, "i32") if kind == "f32" else ("double", 19, "i64")
        divisor = self.value(f"uitofp i32 {odd} to {type_}")
        quotient = self.value(f"fdiv {type_} {value}.0, {divisor}" if value < 2**24 else f"fdiv {type_} 7.0, {divisor}")
        raw = self.value(f"bitcast {type_} {quotient} to {integer}")
        if kind == "f32":
            return raw
        shifted = self.value(f"lshr i64 {raw}, {bits}")
        return self.value(f"trunc i64 {shifted} to i32")

    def _guarded(self, make_callee: Callable[[], str], annotation: str) -> None:
        self._number += 1
        inner, after = f"call{self._number}", f"after{self._number}"
        condition = self.value(f"icmp ne i32 {self.n}, 0")
        self.add(f"br i1 {condition}, label %{inner}, label %{after}")
        outer, self._label = self._label, inner
        self.add(f"{inner}:")
        callee = make_callee()
        less = self.value(f"sub i32 {self.n}, 1")
        result = self.name()
        self.add(f"{result} = call i32 {callee}(i32 {self.x}, i32 {less}){annotation}")
        self.add(f"br label %{after}")
        self._label = after
        self.add(f"{after}:")
        self.x = self.value(f"phi i32 [ {result}, %{inner} ], [ {self.x}, %{outer} ]")

    def _loaded_pointer(self, variable: str, offset: int) -> str:
        shifted = self.value(f"add i32 {self.x}, {offset}")
        index = self.value(f"urem i32 {shifted}, {self.program.variable[variable].count}")
        pointer = self.module.pointer(variable)
        place = self.value(f"getelementptr ptr, {pointer}, i32 {index}")
        return self.value(f"load ptr, {self.module.pointer_type(variable)} {place}, align 8")

    def _either(self, first: str, second: str) -> str:
        condition = self.value(f"trunc i32 {self.x} to i1")
        return self.value(f"select i1 {condition}, ptr {self.module.symbol(first)}, ptr {self.module.symbol(second)}")

    def _scratch(self, size: int) -> None:
        # LLVM 22 takes the generic address of `alloca ..., addrspace(5)` for a local one, which is an illegal address.
        generic = self.name()
        self.add(f"{generic} = alloca [{size} x i32], align 4")
        array = self.value(f"addrspacecast ptr {generic} to ptr addrspace(5)")
        places = [self.value(f"getelementptr i32, ptr addrspace(5) {array}, i32 {i}") for i in range(size)]
        for i, place in enumerate(places):
            self.add(f"store i32 {i + 3}, ptr addrspace(5) {place}, align 4")
        index = self.value(f"and i32 {self.x}, {size - 1}")
        place = self.value(f"getelementptr i32, ptr addrspace(5) {array}, i32 {index}")
        self.add(f"store i32 {self.x}, ptr addrspace(5) {place}, align 4")
        first = self.value(f"load i32, ptr addrspace(5) {places[0]}, align 4")
        last = self.value(f"load i32, ptr addrspace(5) {places[-1]}, align 4")
        self._add(self.value(f"add i32 {first}, {last}"))

    def _assign(self, assignment: Assignment) -> None:
        variable = self.program.variable[assignment.pointers]
        pointer = self.module.pointer(assignment.pointers)
        place = self.value(f"getelementptr ptr, {pointer}, i32 {assignment.index}")
        offset = 1 if "offset" in variable.traits else 0
        target = self.module.generic_pointer(assignment.target, offset)
        self.add(f"store {target}, {self.module.pointer_type(assignment.pointers)} {place}, align 8")


@overload
def _available(symbol: Function) -> Function: ...
@overload
def _available(symbol: Variable) -> Variable: ...
def _available(symbol: Function | Variable) -> Function | Variable:
    """The symbol as another module has it for optimisation only."""
    return replace(symbol, linkage="available_externally", traits=symbol.traits - {"comdat", "used", "compiler_used"})


def _element(v: Variable) -> str:
    return "ptr" if v.holds_addresses else "i32"


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word
