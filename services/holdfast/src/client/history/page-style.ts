/** Light and dark, and the colours are not the only sign: the table says everything in words. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1c2430; --quiet: #5b6675; --line: #d5dbe3; --back: #fff; --bad: #c0182c;
  --new: #1a7f4b; --changed: #2f6fd0; --gone: #6b7280; --blind: #b45309; }
@media (prefers-color-scheme: dark) { :root { --text: #e6eaf0; --quiet: #9aa5b4; --line: #3a4350; --back: #14181f;
  --bad: #ff6b7a; --new: #4cc38a; --changed: #7db0ff; --gone: #9aa5b4; --blind: #f0a04b; } }
body { margin: 1.5rem; background: var(--back); color: var(--text); font: 14px/1.4 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 .5rem; } h2 { font-size: 1.05rem; }
.fact { margin: .15rem 0; color: var(--quiet); }
.legend { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0; } .key { display: flex; align-items: center; gap: .4rem; }
.dot { width: 10px; height: 10px; border-radius: 50%; }
.dot.created { background: var(--new); } .dot.updated { background: var(--changed); } .dot.deleted { background: var(--gone); }
.dot.refused { background: var(--bad); } .dot.blind { background: var(--blind); }
.chart { display: grid; grid-template-columns: minmax(8rem, 20rem) 1fr; border: 1px solid var(--line); border-radius: 6px; }
.names { padding-top: 22px; border-right: 1px solid var(--line); }
.name { height: 30px; line-height: 30px; padding: 0 .6rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.scroll { overflow-x: auto; }
svg text { font-size: 10px; fill: var(--quiet); } .lane { stroke: var(--line); }
.arrow { fill: none; stroke: var(--quiet); stroke-opacity: .45; } .arrow.refused { stroke: var(--bad); stroke-opacity: .9; }
.arrow.blind { stroke: var(--blind); stroke-opacity: .9; }
.fault-line { stroke: var(--bad); stroke-width: 2; } .fault-fact { color: var(--bad); font-weight: 600; }
.mark { fill: var(--changed); } .mark.created { fill: var(--new); } .mark.deleted { fill: var(--gone); }
.mark.refused { fill: var(--back); stroke: var(--bad); stroke-width: 2.5; } .mark.blind { fill: var(--blind); }
table { border-collapse: collapse; width: 100%; } th { text-align: left; color: var(--quiet); font-weight: 600; }
td, th { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; } .time { white-space: nowrap; } .fault td { color: var(--bad); } tr:target { outline: 2px solid var(--changed); }
`;
