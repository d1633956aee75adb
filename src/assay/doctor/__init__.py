"""What `assay doctor` looks at: `installation` says what works here, `egress` what may leave the machine."""

from __future__ import annotations

from assay.doctor.egress import examine_egress
from assay.doctor.finding import Finding
from assay.doctor.installation import examine

__all__ = ["Finding", "examine", "examine_egress"]
