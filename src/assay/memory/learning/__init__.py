"""Learning from use, with its safeguards.

- `learning`: the way in; every other module is called through it.
- `votes`: validations of memories, and the promotion of useful ones.
- `observing`: what an agent read or wrote, and which earlier results that confirms.
- `repeated_searches`: searching again for the same need, recorded when it happens.
- `triggers`: terms learned from choices, and how noisy they are.
- `policy`: the ten rules between use and a learned trigger.
- `rollback`: takes back what was learned.
- `kill_switch`: stops learned triggers when exposure concentrates on few memories.
"""

from assay.memory.learning.learning import Learning
from assay.memory.learning.policy import Limits, Policy
from assay.memory.learning.rollback import Which
from assay.memory.learning.votes import Vote

__all__ = ["Learning", "Limits", "Policy", "Vote", "Which"]
