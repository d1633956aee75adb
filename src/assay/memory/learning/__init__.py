"""Learning from use, with its safeguards.

Read `learning` first: everything goes through it. `validation` takes votes, with `promotion`; `observing` is told what
an agent read or wrote, `implicit` says what that means. `triggers` learns terms from choices; `policy` holds the ten
rules it asks, with `denylist`, `noise`, `cycles` and `principals` behind them; `standing` shows how far it has come.
`rollback` takes back what was learned. `kill_switch` watches `exposure` and stops learning when it goes wrong.
"""

from assay.memory.learning.learning import Learning
from assay.memory.learning.policy import Limits, Policy
from assay.memory.learning.rollback import Which
from assay.memory.learning.validation import Vote

__all__ = ["Learning", "Limits", "Policy", "Vote", "Which"]
