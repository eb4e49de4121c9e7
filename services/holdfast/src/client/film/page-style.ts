/** Light and dark; colours are not the only sign: bars have words, and the list says everything. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1c2430; --quiet: #566070; --line: #d9dfe7; --back: #fff; --zero: #8a94a3;
  --good: #cfe8d8; --doubt: #f6d9b0; --dead: #d8dbe1; --busy: #cfe0f8; --on: #1c2430; --wait: #9a4b00; }
@media (prefers-color-scheme: dark) { :root { --text: #e6eaf0; --quiet: #a3adbb; --line: #2c343f; --back: #14181f; --zero: #77818f;
  --good: #24523a; --doubt: #6b4714; --dead: #3b424d; --busy: #24446f; --on: #f2f5f9; --wait: #f0b26b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.25rem; max-width: 60rem; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .25rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .25rem 0; } .fact, .because, .lasted, .after { color: var(--quiet); }
.wait { color: var(--wait); font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .75rem 0; font-size: 13px; color: var(--quiet); }
.key { display: flex; align-items: center; gap: .4rem; } .swatch { width: 14px; height: 14px; border-radius: 3px; flex: none; }
.good { fill: var(--good); background: var(--good); } .doubt { fill: var(--doubt); background: var(--doubt); }
.dead { fill: var(--dead); background: var(--dead); } .busy { fill: var(--busy); background: var(--busy); }
.picture { overflow-x: auto; } svg { display: block; width: 100%; min-width: 640px; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--on); } svg .time { fill: var(--quiet); } svg .name { fill: var(--text); font-weight: 600; paint-order: stroke; stroke: var(--back); stroke-width: 5px; }
.tick { stroke: var(--line); } .zero { stroke: var(--zero); }
a:focus-visible .bar { stroke: var(--text); stroke-width: 2; }
.steps { list-style: none; margin: 0; padding: 0; } .steps li { display: grid; grid-template-columns: 4.5rem 1fr; gap: .75rem;
  padding: .3rem 0; border-top: 1px solid var(--line); } .steps li:target { outline: 2px solid var(--zero); }
.after { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } .because { display: block; font-size: 13px; }
`;
