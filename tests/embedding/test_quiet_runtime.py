"""Nothing that Assay runs on calls home."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import assay

SOURCE = Path(assay.__file__).parent


def test_telemetry_is_forbidden_before_the_runtime_is_loaded() -> None:
    program = (
        "import sys, os\n"
        "seen = []\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'onnxruntime': seen.append(os.environ.get('ORT_DISABLE_TELEMETRY'))\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import assay.embedding.onnx\n"
        "print(seen)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "['1']"


def test_only_the_quiet_module_loads_the_runtime() -> None:
    importers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "onnxruntime" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "onnxruntime")
    }
    assert importers == {"embedding/quiet_runtime.py"}
