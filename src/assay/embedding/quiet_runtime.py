"""Load onnxruntime with its telemetry switched off: nothing that Assay runs on may call home.

Some builds of onnxruntime send events to their maker from the moment they are loaded, so the variable that forbids it
must be set first. Everything in Assay that needs onnxruntime takes it from here; a test holds that.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
