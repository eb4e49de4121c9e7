/** Light and dark. Hues that stay apart for people who do not tell red from green: a fault is also hatched. */
export const STYLE = `
:root { color-scheme: light dark; --ground: #fbfbf9; --text: #22262b; --faint: #6d747c; --rule: #dfe2e4; --fault: #c62f3b;
  --fault-ground: #c62f3b33; --good: #2b7a4b; --held: #b98a1c; --user: #7446b3; --fact: #34495e;
  --s0: #3d78b8; --s1: #2f9c95; --s2: #8a6fc0; --s3: #5f7a2e; --s4: #b0703a; --s5: #566375; }
@media (prefers-color-scheme: dark) { :root { --ground: #16191d; --text: #e4e7ea; --faint: #969ea7; --rule: #2f353c;
  --fault: #ff6b74; --fault-ground: #ff6b7438; --good: #6fcf97; --held: #d9ab43; --user: #b693ea; --fact: #c3ccd5; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 24px; background: var(--ground); color: var(--text);
  font: 14px/1.45 system-ui, -apple-system, 'Segoe UI', sans-serif; }
h1 { font-size: 20px; margin: 0 0 6px; } h2 { font-size: 15px; margin: 28px 0 8px; }
.fact { margin: 2px 0; color: var(--faint); max-width: 100ch; }
.verdict { margin: 14px 0; padding: 10px 14px; border-left: 4px solid var(--good); max-width: 110ch; }
.verdict.broken { border-color: var(--fault); background: var(--fault-ground); }
.verdict strong, .story { display: block; overflow-wrap: anywhere; white-space: pre-wrap; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 20px; margin: 14px 0; color: var(--faint); font-size: 12px; }
.key { display: inline-flex; align-items: center; gap: 6px; }
.key i { position: static; display: inline-block; } .key .bar { width: 26px; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: 6px; }
.group { padding: 8px 10px 3px; font-size: 11px; letter-spacing: .06em; text-transform: uppercase; color: var(--faint); }
.lane, .axis { display: grid; grid-template-columns: 150px 1fr; border-top: 1px solid var(--rule); }
.axis { border-top: 0; }
.name { position: sticky; left: 0; z-index: 3; padding: 1px 10px; background: var(--ground); border-right: 1px solid var(--rule);
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 12px; line-height: 19px; }
.track { position: relative; min-height: 20px; overflow: hidden; margin-right: 14px; }
.tick { position: absolute; font-size: 11px; color: var(--faint); padding-left: 3px; border-left: 1px solid var(--rule); }
.bar { position: absolute; height: 15px; border-radius: 3px; padding: 0 5px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; font-size: 11px; line-height: 15px; color: #fff; }
.s0 { background: var(--s0); } .s1 { background: var(--s1); } .s2 { background: var(--s2); } .s3 { background: var(--s3); }
.s4 { background: var(--s4); } .s5 { background: var(--s5); }
.bar.held { background: none; border: 1.5px solid var(--held); color: var(--text); line-height: 12px; }
.bar.fault { color: var(--text); border: 1px solid var(--fault); line-height: 13px; z-index: 1;
  background: repeating-linear-gradient(135deg, var(--fault-ground) 0 6px, transparent 6px 10px); }
.mark { position: absolute; bottom: 2px; width: 7px; height: 7px; margin-left: -3px; border-radius: 50%; z-index: 2;
  background: var(--fact); box-shadow: 0 0 0 1.5px var(--ground); }
.mark.user { background: var(--user); border-radius: 1px; } .mark.fault { background: var(--fault); }
.mark.write { width: 2px; height: 10px; margin-left: -1px; border-radius: 0; box-shadow: none; background: var(--faint); }
.line { position: absolute; top: 0; bottom: 0; width: 0; z-index: 2; border-left: 1px dashed var(--good); }
.line.violation { border-left: 2px solid var(--fault); }
table { border-collapse: collapse; font-size: 13px; }
td { padding: 3px 14px 3px 0; vertical-align: top; border-top: 1px solid var(--rule); overflow-wrap: anywhere; }
.time { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; color: var(--faint); }
tr.fault td { color: var(--fault); } tr.user td { color: var(--user); }
tr.violation td { background: var(--fault-ground); font-weight: 600; }
`;
