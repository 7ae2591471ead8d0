"""The style of the page, and the script that shows readings under the pointer."""

from __future__ import annotations

import hashlib
from base64 import b64encode

# Tones differ for all kinds of colour vision, and have enough contrast as text.
STYLE = """
:root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--edge:#e1e5ea;--text:#1b222c;
--dim:#5a6472;--grid:#e8ebef;--axis:#97a1ae;--a:#0a68ad;--b:#b8480b;--c:#08775a;--grey:#5f6a78;
--load:#98a2af;--oracle:#0a68ad;--cache:#7fbce6;--qp:#d9762b;--cuts:#22947a;--other:#d3d8de;
--good:#08775a;--stopped:#a35d00;--going:#0a68ad;--on-oracle:#fff;
--on-cache:#14181d}
@media screen and (prefers-color-scheme:dark){:root{--page:#11151a;--card:#191f26;--edge:#2b333d;
--text:#e5e9ee;--dim:#9aa5b3;--grid:#272f38;--axis:#66717f;--a:#63b3ee;--b:#f2945a;--c:#4cc9a3;
--grey:#9aa5b3;--load:#7a8593;--oracle:#4f9fdb;--cache:#2f6690;--qp:#e08a4a;--cuts:#3aa88b;
--other:#47515d;--good:#4cc9a3;--stopped:#e6a94c;--going:#63b3ee;--on-oracle:#14181d;
--on-cache:#fff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);-webkit-text-size-adjust:100%;
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:28px 20px 48px}
h1,h2,h3,p,dl,dd,figure{margin:0}
h1{font-size:28px;line-height:1.2;overflow-wrap:anywhere}
h2{font-size:19px;line-height:1.3;margin:32px 0 12px}
h3{font-size:16px;line-height:1.3}
.eyebrow,.path{color:var(--dim);font-size:13px;overflow-wrap:anywhere}
header{margin-bottom:20px}
.card{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:18px 20px;
min-width:0;break-inside:avoid}
.verdict{border-top:4px solid var(--tone)}
.verdict h2{margin:0 0 4px;font-size:22px;color:var(--tone)}
.verdict.good{--tone:var(--good)}.verdict.stopped{--tone:var(--stopped)}
.verdict.going{--tone:var(--going)}
.tiles{display:grid;grid-template-columns:repeat(30,1fr);gap:18px 20px;margin-top:18px}
.tile{grid-column:span 6;min-width:0}.tile.wide{grid-column:span 5}
.tile dt{color:var(--dim);font-size:13px}
.tile dd{font-size:18px;line-height:1.3;overflow-wrap:anywhere}
.tile.wide dd{font-size:21px;font-weight:600}
.tile dd+dd,.tile.wide dd+dd{font-size:12px;font-weight:400;color:var(--dim);line-height:1.4}
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:16px;align-items:start}
.columns>figure{align-self:stretch}
.columns>figure:first-child:nth-last-child(odd){grid-column:1/-1}
.columns>figure:first-child:nth-last-child(odd) p{min-height:0}
.stack{display:grid;gap:16px}
figcaption p{color:var(--dim);font-size:13px;line-height:1.45;min-height:2.9em;margin:2px 0 10px}
.plot{display:grid;grid-template:26px 200px 20px 18px/50px minmax(0,1fr) 76px;font-size:12px;
line-height:14px;color:var(--dim)}
.y-title{grid-area:1/1/2/4}
.plot>svg{width:100%;height:100%;overflow:visible}
.plot text{fill:currentColor;dominant-baseline:central}
.y-labels{grid-area:2/1;text-anchor:end}
.area{grid-area:2/2;position:relative;touch-action:pan-y}
.area svg{display:block;width:100%;height:100%;overflow:visible;clip-path:inset(-5px)}
.area path{fill:none;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}
.area .grid{stroke:var(--grid)}.area .axis{stroke:var(--axis)}
.area .line,.area .steps{stroke-width:2}.area .thin{stroke-width:1;opacity:.75}
.area .dots{stroke-width:5}
.area .level{stroke-width:1.5;stroke-dasharray:5 4;stroke-linecap:butt}
.area .band{fill:var(--a);opacity:.12}
path.a{stroke:var(--a)}path.b{stroke:var(--b)}path.c{stroke:var(--c)}path.grey{stroke:var(--grey)}
.pointer{position:absolute;top:0;bottom:0;width:1px;background:var(--dim);pointer-events:none}
.ends{grid-area:2/3}.ends .name{font-weight:600}
.ends .a{color:var(--a)}.ends .b{color:var(--b)}.ends .c{color:var(--c)}
.ends .grey{color:var(--grey)}
.x-labels{grid-area:3/2;text-anchor:middle}
.x-title{grid-area:4/1/5/4;text-align:center;white-space:nowrap;overflow:hidden;
text-overflow:ellipsis;padding:2px 0}
.bar{display:block;width:100%;height:36px;border-radius:5px}
.bar rect{stroke:var(--card);stroke-width:1}.thin-bar{height:12px}.thin-bar rect{stroke:none}
.bar text{text-anchor:middle;dominant-baseline:central;font-size:13px;font-weight:600;fill:#14181d}
.bar .on-oracle{fill:var(--on-oracle)}.bar .on-cache{fill:var(--on-cache)}
.bar .on-other{fill:var(--text)}
rect.track,rect.loading{fill:var(--grid)}rect.loading{opacity:.6}
rect.load{fill:var(--load)}rect.oracle{fill:var(--oracle)}rect.cache{fill:var(--cache)}
rect.qp{fill:var(--qp)}rect.cuts{fill:var(--cuts)}rect.other{fill:var(--other)}
.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:8px}
.swatch.load{background:var(--load)}.swatch.oracle{background:var(--oracle)}
.swatch.cache{background:var(--cache)}.swatch.qp{background:var(--qp)}
.swatch.cuts{background:var(--cuts)}.swatch.other{background:var(--other)}
table{border-collapse:collapse;width:100%;font-size:14px;line-height:1.4}
th{text-align:left;font-weight:500;white-space:nowrap}
.numbers{margin-top:10px}
.numbers td{text-align:right;white-space:nowrap;padding:4px 0 4px 12px}
.numbers th{padding:4px 0}
.numbers .words{text-align:left;color:var(--dim);font-size:13px;white-space:normal}
.workers .gauge{width:45%}.workers .words{white-space:nowrap}
.note{color:var(--dim);font-size:13px;margin-top:8px}
.facts{margin-top:8px}
.facts tr+tr{border-top:1px solid var(--grid)}
.facts th,.facts td{padding:5px 0;vertical-align:top}
.facts td{padding-left:16px;text-align:right;overflow-wrap:anywhere}
.facts .dim{color:var(--dim)}.facts .dim th{font-weight:400}
small{color:var(--dim);font-size:12px;display:block}
@media screen and (max-width:860px){.tiles{grid-template-columns:repeat(3,minmax(0,1fr))}
.tile,.tile.wide{grid-column:auto}}
@media screen and (max-width:720px){.columns{grid-template-columns:minmax(0,1fr)}
figcaption p{min-height:0}}
@media screen and (max-width:480px){main{padding:18px 12px 32px}.card{padding:15px 14px}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:14px 12px}
.plot{grid-template-columns:44px minmax(0,1fr) 70px}.workers .gauge{width:28%}}
@media print{body{background:#fff}main{max-width:none;padding:0;zoom:.75}
.card,rect,.swatch,path{print-color-adjust:exact;-webkit-print-color-adjust:exact}
h2{break-after:avoid;margin-top:20px}.columns{gap:10px}.card{padding:12px 14px}}
"""

SCRIPT = """
document.querySelectorAll("[data-readings]").forEach(plot => {
  const readings = JSON.parse(plot.dataset.readings), area = plot.querySelector(".area");
  const line = plot.querySelector(".pointer"), title = plot.querySelector(".x-title");
  const usual = title.textContent;
  area.onpointermove = area.onpointerdown = event => {
    const box = area.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * 1000;
    const [place, text] = readings.reduce((best, reading) =>
      Math.abs(reading[0] - x) < Math.abs(best[0] - x) ? reading : best);
    line.style.left = place / 10 + "%";
    line.hidden = false;
    title.textContent = text;
  };
  area.onpointerleave = () => { line.hidden = true; title.textContent = usual; };
});
"""


def hashed(text: str) -> str:
    """Return a source of a Content-Security-Policy that allows only this style or script."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
