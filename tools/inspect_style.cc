// The style sheet of the page of `dequant inspect --html`.
#include "tools/inspect_page.h"

namespace dequant::tools {

const std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #fff; --panel: #f5f6f8; --ink: #1b1f24; --soft: #5d6570; --line: #d9dde2;
  --bar: #3b73c8; --accent: #1a5fb4; --odd: #a33c00; --odd-paper: #fdeee4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --panel: #1d2126; --ink: #e4e7eb; --soft: #9aa4b0; --line: #343a42;
    --bar: #6ea3ee; --accent: #8ab8ff; --odd: #ffb184; --odd-paper: #3b2416;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.25rem 1.5rem 3rem; max-width: 120rem;
  background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1 { margin: 0 0 .75rem; font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
small { color: var(--soft); font-size: .86em; font-weight: normal; }
.note, footer { color: var(--soft); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .6rem; margin: 0 0 1rem; }
.cards div { padding: .55rem .8rem; background: var(--panel); border-radius: 6px; }
dt { color: var(--soft); font-size: .86em; }
dd { margin: 0; overflow-wrap: anywhere; }
.cards dd { font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.cards small { display: block; font-size: .8rem; }

.scroll { overflow: auto; max-height: 92vh; border: 1px solid var(--line); border-radius: 6px; width: fit-content; max-width: 100%; }
table { border-collapse: separate; border-spacing: 0; font-size: 12.5px; }
th, td { padding: .3rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); white-space: nowrap; }
tbody:last-child > tr:last-child > * { border-bottom: 0; }
thead th { position: sticky; top: 0; z-index: 2; background: var(--panel); font-weight: 600; }
tbody th { font-weight: 500; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td small, th small { display: block; }
thead button { all: unset; cursor: pointer; }
thead button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
thead button::after { content: "\2195"; margin-left: .3em; color: var(--soft); opacity: .45; }
[aria-sort=ascending] button::after { content: "\2191"; color: var(--accent); opacity: 1; }
[aria-sort=descending] button::after { content: "\2193"; color: var(--accent); opacity: 1; }

#tensors > thead > tr > th:first-child, #tensors > tbody > tr > th {
  position: sticky; left: 0; z-index: 1; background: var(--paper); border-right: 1px solid var(--line);
}
#tensors > thead > tr > th:first-child { z-index: 3; background: var(--panel); }
#tensors > tbody > tr > th { white-space: normal; overflow-wrap: anywhere; min-width: 14rem; max-width: 20rem; }
td bdi, th bdi, .facts bdi { display: inline-block; max-width: calc(100% - 1.2em); max-height: 12rem; overflow-y: auto; vertical-align: top; }
#open > tbody > tr > *, #others > tbody > tr > th, #others > tbody > tr > td:last-child { white-space: normal; overflow-wrap: anywhere; }
#open > tbody > tr > th, #others > tbody > tr > th { min-width: 10rem; }
#open > tbody > tr > td:nth-child(2), #open > tbody > tr > td:last-child, #others > tbody > tr > td:last-child { min-width: 10rem; }
#open > tbody > tr > .n { white-space: nowrap; }
#tensors > tbody > tr:first-child:hover > * { background: var(--panel); }
summary { cursor: pointer; color: var(--accent); }
th em { display: inline-block; margin: .15rem .3rem 0 0; padding: 0 .4rem; border-radius: 4px; background: var(--odd-paper); color: var(--odd); font-style: normal; font-size: .86em; }
tr.more { display: none; }
tbody.open > tr.more { display: table-row; }
.js tbody.late { display: none; }
tr.more > td { padding: .6rem .9rem 1rem; background: var(--panel); white-space: normal; }
.inner { position: sticky; left: .9rem; width: calc(min(100vw, 120rem) - 6rem); }

#tools { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center; }
input[type=search] { width: 18rem; max-width: 100%; padding: .3rem .5rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 4px; }
#tools[hidden] { display: none; }
#tools button { padding: .25rem .7rem; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
#shown { color: var(--soft); font-variant-numeric: tabular-nums; }

svg.s { display: block; margin-left: auto; width: 96px; height: 34px; overflow: visible; }
svg { fill: var(--bar); }  /* inherited: what <use> shows sees no other rule */
svg .z, svg .g { fill: none; stroke: var(--soft); stroke-width: 1; vector-effect: non-scaling-stroke; }
svg .g { stroke: var(--line); }
svg text { fill: var(--soft); font-size: 10.5px; text-anchor: end; font-variant-numeric: tabular-nums; }
svg text.x { text-anchor: middle; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); gap: .8rem 1.2rem; max-width: 90rem; }
figure { margin: .4rem 0; }
figcaption { font-weight: 600; }
figcaption small { display: inline; margin-left: .4em; }
svg.c { display: block; width: 100%; max-width: 34rem; height: auto; }
figure output { display: block; min-height: 1.3em; color: var(--soft); font-size: .86em; font-variant-numeric: tabular-nums; }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 1.8rem; margin: 0 0 .5rem; }
.groups { display: flex; flex-wrap: wrap; gap: .5rem 3rem; margin-top: .5rem; }
.groups caption { padding-bottom: .2rem; text-align: left; font-weight: 600; }
.groups th, .groups td { padding: .12rem 0 .12rem .9rem; }
.groups th:first-child, .groups td:first-child { padding-left: 0; }
.groups thead th { position: static; background: none; font-weight: normal; color: var(--soft); }

@media (max-width: 45rem) {
  body { padding: .8rem .7rem 2rem; }
  #tensors > thead > tr > th:first-child, #tensors > tbody > tr > th { min-width: 9rem; max-width: 9rem; }
  .inner { width: calc(100vw - 4rem); }
}
@media print { .scroll { max-height: none; overflow: visible; } #tools { display: none; } }
)css";

const std::string_view kPageStyleWithoutScript = R"css(
tbody:has(details[open]) > tr.more { display: table-row; }
@supports not selector(:has(a)) { tr.more { display: table-row; } }
)css";

}  // namespace dequant::tools
