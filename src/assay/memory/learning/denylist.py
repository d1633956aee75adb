"""Words that no memory learns: they stand in so many queries that they say nothing about any memory."""

from __future__ import annotations

_WORDS = """
a about above after again against ago all almost also although always am among an and another any anybody anyone
anything are around as ask asked at away back be became because become been before began begin behind being below
best better between both but by call came can cannot case change come could day did different do does doing done
down during each either else end enough even ever every everybody everyone everything example explain fact far few
find first for found from further gave general get give given go goes going good got had has have having he help
hence her here hers him his how however i if in information instead into is issue it its itself just keep know
known last later latest least less let like list little look made make many may maybe me mean memory might mine
more most much must my myself name need never new next no nobody none nor not note nothing now of off often old on
once one only onto or other others our ours out over own part per perhaps please point possible problem put
question quite rather really remember result right said same saw say search see seem seen several shall she should
show since so some somebody someone something sometimes soon still such sure take tell than that the their theirs
them then there these they thing things think this those though through time to today together tomorrow too toward
try two under understand until up upon us use used using usual very want was way we well went were what whatever
when whenever where whether which while who whole whom whose why will with within without word work works would
yes yesterday yet you your yours
"""
DENYLIST = frozenset(_WORDS.split())
