"""PyTorch and JAX on a GPU with `parcubin-ptxas` in place of ptxas: the same results, bit for bit.

    python -m tests.gpu.frameworks torch --ptxas PATH --front PATH
    python -m tests.gpu.frameworks jax --ptxas PATH --front PATH

Trains a small model for some steps in two processes with empty caches, first with the stock ptxas and then with
parcubin-ptxas, and compares losses and gradients; prints both, how often parcubin-ptxas was started, and what it did.
torch is torch.compile, whose kernels Triton compiles; --ptxas is by default what the framework brings along or finds.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

STEPS = 5


def train_torch() -> dict[str, object]:
    """Losses, and a hash of all gradients of the last step."""
    import torch

    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(torch.nn.Linear(32, 128), layer, torch.nn.GELU(), torch.nn.Linear(128, 10)).cuda()
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(16, 24, 32, device="cuda"), torch.randn(16, 24, 10, device="cuda")
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(compiled(x), y)
        loss.backward()
        losses.append(loss.item().hex())
        optimizer.step()
    gradients = b"".join(p.grad.cpu().numpy().tobytes() for p in model.parameters())
    return {"losses": losses, "gradients": hashlib.sha256(gradients).hexdigest()}


def train_jax() -> dict[str, object]:
    """Losses, and a hash of all gradients of the last step."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    keys = jax.random.split(jax.random.key(0), 5)
    weights = [jax.random.normal(k, shape) * 0.1 for k, shape in zip(keys, [(32, 128), (128, 128), (128, 10)])]  # noqa: B905
    x, y = jax.random.normal(keys[3], (64, 32)), jax.random.normal(keys[4], (64, 10))

    def loss_of(weights: list[jax.Array]) -> jax.Array:
        hidden = jax.nn.gelu(jax.nn.softmax(x @ weights[0]) @ weights[1])
        return jnp.mean((hidden @ weights[2] - y) ** 2)

    step = jax.jit(jax.value_and_grad(loss_of))
    losses, gradients = [], []
    for _ in range(STEPS):
        loss, gradients = step(weights)
        losses.append(float(loss).hex())
        weights = [w - 0.05 * g for w, g in zip(weights, gradients, strict=True)]
    data = b"".join(np.asarray(g).tobytes() for g in gradients)
    return {"losses": losses, "gradients": hashlib.sha256(data).hexdigest()}


TRAINING = {"torch": train_torch, "jax": train_jax}


def environment(framework: str, ptxas: str | None, stock: str | None, folder: Path) -> dict[str, str]:
    """What points a framework to a ptxas, with caches of its own.

    Args:
        framework: "torch" or "jax".
        ptxas: the path; None for the framework's own.
        stock: the path of NVIDIA's.
        folder: an empty folder.
    """
    if framework == "torch":
        variables = {
            "TRITON_CACHE_DIR": str(folder / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # which deterministic cuBLAS asks for
        }
        return {**variables, **({"TRITON_PTXAS_PATH": ptxas, "TRITON_PTXAS_BLACKWELL_PATH": ptxas} if ptxas else {})}
    flags: list[str] = []
    if ptxas:
        tools = folder / "toolkit" / "bin"
        tools.mkdir(parents=True)
        (tools / "ptxas").symlink_to(Path(ptxas).absolute())
        nvlink = shutil.which("nvlink", path=f"{Path(stock or ptxas).parent}:{os.environ['PATH']}")
        if nvlink:
            (tools / "nvlink").symlink_to(nvlink)
        flags.append(f"--xla_gpu_cuda_data_dir={tools.parent}")
    return {"XLA_FLAGS": " ".join(flags)}


def trained(framework: str, ptxas: str | None, stock: str | None, more: Mapping[str, str]) -> dict[str, object]:
    """Trains in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        variables = {**os.environ, **environment(framework, ptxas, stock, Path(name)), **more}
        command = [sys.executable, "-m", "tests.gpu.frameworks", framework, "--train"]
        output = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout
    result: dict[str, object] = json.loads(output.splitlines()[-1])
    return result


def main() -> None:
    """Compares, and ends with status 1 when something differs or parcubin-ptxas was never started."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=TRAINING)
    parser.add_argument("--ptxas", help="the stock ptxas")
    parser.add_argument("--front", default=shutil.which("parcubin-ptxas"), help="parcubin-ptxas")
    parser.add_argument("--train", action="store_true", help="train in this process and print the result")
    arguments = parser.parse_args()
    if arguments.train:
        print(json.dumps(TRAINING[arguments.framework]()))
        return
    if arguments.ptxas is None and arguments.framework == "torch":
        triton = importlib.util.find_spec("triton")
        if triton is None or triton.origin is None:
            sys.exit("Triton is not installed.")
        arguments.ptxas = str(Path(triton.origin).parent / "backends/nvidia/bin/ptxas")
    with tempfile.TemporaryDirectory() as name:
        log = Path(name, "log")
        log.touch()
        more = {"PARCUBIN_PTXAS_LOG": str(log), **({"PARCUBIN_PTXAS": arguments.ptxas} if arguments.ptxas else {})}
        stock = trained(arguments.framework, arguments.ptxas, arguments.ptxas, {})
        front = trained(arguments.framework, arguments.front, arguments.ptxas, more)
        runs = Counter(log.read_text().splitlines())
    print(f"stock ptxas:    {stock}\nparcubin-ptxas: {front}\nruns: {dict(runs)}")
    if front != stock or not runs:
        sys.exit("The results differ." if runs else "parcubin-ptxas was never started.")


if __name__ == "__main__":
    main()
