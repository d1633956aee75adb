"""Load onnxruntime with its telemetry switched off: nothing that Assay runs on may call home.

Some builds of onnxruntime send events to their maker from the moment they are loaded, so the variable that forbids it
must be set first. Everything in Assay that needs onnxruntime takes it from here; a test holds that. A program that
loaded onnxruntime before Assay has its events switched off from here on.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

VARIABLE = "ORT_DISABLE_TELEMETRY"
# The variable is read when the library is loaded; this call also reaches one that was loaded earlier.
onnxruntime.disable_telemetry_events()

__all__ = ["VARIABLE", "onnxruntime"]
