"""`parcubin compile`: inputs in, one CUBIN, bundle, relocatable module or PTX out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from parcubin.cli.arguments import Argument, Option
from parcubin.cli.errors import describe, exit_on_error, print_error, print_json, show_verbose
from parcubin.cli.main import end_interruptibility
from parcubin.configuration import bytes_of
from parcubin.errors import UsageError
from parcubin.model import CompilationOptions, Emit, FastCompile
from parcubin.output_paths import check_apart, check_file, check_folder, check_output
from parcubin.printable import printable

if TYPE_CHECKING:
    from parcubin.program import Report


def compile_command(
    inputs: Annotated[
        list[Path],
        Argument(metavar="INPUT", help="LLVM IR, bitcode or PTX, told by content; .xz and .gz are unpacked."),
    ],
    arch: Annotated[str, Option("--arch", metavar="TARGET", help="The target: sm_80, sm_90a, sm_100f.")],
    output: Annotated[str, Option("--output", "-o", metavar="OUT", help="The file or folder to write.")],
    emit: Annotated[
        Emit | None,
        Option(help="What to write. By default OUT's name says it: .cubin, .ptx, a folder or .zip for a bundle."),
    ] = None,
    jobs: Annotated[
        int | None, Option("--jobs", "-j", min=1, metavar="N", help="Worker processes; the cores by default.")
    ] = None,
    provider: Annotated[str, Option(metavar="NAME", help="The compilation provider.")] = "auto",
    llvm: Annotated[str, Option(metavar="DIR", help="The folder with opt and llc that lower, or 'llvmlite'.")] = "auto",
    opt_level: Annotated[int, Option("-O", min=0, max=3, metavar="LEVEL", help="Optimisation level; 0 disables.")] = 3,
    llvm_opt_level: Annotated[
        int | None,
        Option("--llvm-opt", min=0, max=3, metavar="LEVEL", help="LLVM's level alone; 0 for IR that is optimised."),
    ] = None,
    fast_compile: Annotated[
        FastCompile, Option("--fast-compile", help="What ptxas leaves out to be done sooner, in place of its -O.")
    ] = "0",
    line_info: Annotated[bool, Option("--lineinfo", help="Keep source line tables.")] = False,
    debug_info: Annotated[bool, Option("-g", help="Full debug info; the PTX compiler does not optimise.")] = False,
    max_registers: Annotated[
        int | None, Option("--maxrregcount", min=1, max=255, metavar="N", help="Most registers a thread may use.")
    ] = None,
    fail_on_spill: Annotated[bool, Option("--fail-on-spill", help="A register spill is an error.")] = False,
    inlining_threshold: Annotated[
        int | None, Option("--inline-threshold", metavar="N", help="LLVM's inlining threshold.")
    ] = None,
    flush_to_zero: Annotated[bool, Option("--ftz", help="Flush single-precision denormals to zero.")] = False,
    split: Annotated[bool, Option(help="Split into shards, or compile as a whole.")] = True,
    keep_going: Annotated[
        bool,
        Option("--keep-going", help="Compile the rest when an input fails; the exit status is 1 all the same."),
    ] = False,
    keep: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="Keep every shard's PTX, module and log, and the source of shards that fail, in DIR."
        ),
    ] = None,
    depfile: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write what the output was made of to FILE, in make's format."),
    ] = None,
    driver: Annotated[
        str | None,
        Option(metavar="RELEASE", help="Make what a driver of this CUDA release can load, such as 12.4."),
    ] = None,
    timeout: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            help="The most that one shard may take; beyond it, kernels are compiled apart, then fail.",
        ),
    ] = None,
    total_timeout: Annotated[
        float | None, Option(metavar="SECONDS", help="The most that the whole compile may take.")
    ] = None,
    max_memory: Annotated[
        str | None,
        Option(
            metavar="SIZE", help="Memory for the workers and compilers, such as 512M or 4G; what is there by default."
        ),
    ] = None,
    nice: Annotated[int, Option(min=0, max=19, metavar="N", help="What to add to the workers' niceness.")] = 0,
    cache: Annotated[
        str, Option(metavar="DIR", help="The folder that keeps results; by default one of the user's.")
    ] = "auto",
    no_cache: Annotated[bool, Option("--no-cache", help="Keep no results, and use none.")] = False,
    cache_size: Annotated[
        str | None, Option(metavar="SIZE", help="What the cache's folder keeps at most, such as 512M; 5G by default.")
    ] = None,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    verbose: Annotated[
        int, Option("--verbose", "-v", count=True, help="Tell what happens on standard error; -vv tells of every job.")
    ] = 0,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object on standard output, and nothing else there.")
    ] = False,
) -> None:
    """Compile LLVM IR or PTX for NVIDIA GPUs, in parallel.

    Exit status: 0 done, 1 an input could not be compiled, 2 wrong usage, 3 no usable toolchain.
    """
    with exit_on_error(as_json):
        show_verbose(verbose)
        emit = emit or emit_for(output)
        path = Path(output)
        check_output(path, inputs)
        if path.is_dir():
            check_output_folder(path, inputs, emit)
        if depfile is not None:
            check_file(depfile, inputs)
            check_apart("--depfile", depfile, "--output", path)
        if keep is not None:
            check_apart("--keep", keep, "--output", path)
            if depfile is not None:
                check_apart("--depfile", depfile, "--keep", keep)
        options = CompilationOptions(
            opt_level=opt_level,
            llvm_opt_level=llvm_opt_level,
            fast_compile=fast_compile,
            line_info=line_info,
            debug_info=debug_info,
            max_registers=max_registers,
            fail_on_spill=fail_on_spill,
            inlining_threshold=inlining_threshold,
            flush_to_zero=flush_to_zero,
        )

        from parcubin.cli.depfile import dependencies, write_depfile
        from parcubin.compiler import Compiler
        from parcubin.report.progress import show_progress

        with (
            nullcontext() if quiet else show_progress() as progress,
            Compiler(
                target=arch,
                jobs=jobs,
                provider=provider,
                llvm=llvm,
                driver=driver,
                progress=progress,
                max_memory=None if max_memory is None else bytes_of(max_memory),
                nice=nice,
                cache="off" if no_cache else cache,
                cache_size=None if cache_size is None else bytes_of(cache_size),
            ) as compiler,
        ):
            program = compiler.compile(
                inputs,
                options=options,
                output=emit,
                keep_going=keep_going,
                split=split,
                keep=keep,
                timeout=timeout,
                total_timeout=total_timeout,
            )
            end_interruptibility()
            if depfile is not None:
                write_depfile(depfile, output, dependencies(inputs, compiler, emit))
            program.write(path)

        report = program.report
        if not quiet:
            for warning in report.warnings:
                print(f"parcubin: warning: {printable(warning)}", file=sys.stderr)
        for failure in report.failures:
            print_error(failure)
        if as_json:
            print_json(summary(report, output))
        elif not quiet:
            from parcubin.report.table import output_width, summary_table

            print(summary_table(report, output, output_width()))
        if report.failures:
            sys.exit(1)


def emit_for(output: str) -> Emit:
    """What to write, by the output's name.

    Raises:
        UsageError: when the name says nothing.
    """
    path = Path(output)
    if path.suffix == ".cubin":
        return "cubin"
    if path.suffix == ".ptx":
        return "ptx"
    if path.suffix == ".zip" or not path.suffix or path.is_dir() or output.endswith("/"):
        return "bundle"
    raise UsageError(
        f"'{output}' does not say what to write. Name it .cubin, .ptx or .zip, name a folder, or choose with --emit."
    )


def check_output_folder(path: Path, inputs: list[Path], emit: Emit) -> None:
    """Refuses, before any work is done, a folder that the output cannot replace.

    Raises:
        UsageError: the reason.
        ParcubinError: it cannot be read.
    """
    from parcubin.bundle import is_bundle_folder
    from parcubin.program import holds_ptx_only

    if path.suffix == ".zip" or emit not in ("bundle", "ptx"):
        check_file(path, inputs)
    else:
        check_folder(path, inputs, is_bundle_folder if emit == "bundle" else holds_ptx_only)


def summary(report: Report, output: str) -> dict[str, object]:
    """What `--json` prints after a compile: seconds, bytes; `stages` is CPU time over all workers."""
    return {
        "kernels": report.kernels,
        "shards": report.shards,
        "cached": report.cached,
        "jobs": report.jobs,
        "provider": report.provider,
        "output": output,
        "wall_s": report.wall_s,
        "peak_memory": report.peak_memory,
        "stages": dict(report.stages),
        "slowest": [{"kernels": list(names), "seconds": time} for names, time in report.slowest],
        "warnings": list(report.warnings),
        "helper_calls": {kernel: list(routines) for kernel, routines in report.helper_calls.items()},
        "failures": [describe(failure) for failure in report.failures],
    }
