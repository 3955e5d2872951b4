"""parcubin: LLVM IR and PTX to CUBIN, in parallel."""
