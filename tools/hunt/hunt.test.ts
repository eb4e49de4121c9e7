import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { readScenario } from '../../test/scenario/files.ts';
import { foundBy } from '../../test/sim/hunt/hunter.ts';
import { planOf } from '../../test/sim/hunt/plan.ts';
import { keepFinding, Tally } from './fresh.ts';
import { renderPlanted } from './planted-table.ts';
import { runWorker } from './worker.ts';

function programOf(t: TestContext, text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-hunt-tool-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = path.join(folder, 'worker.mjs');
  writeFileSync(program, text);
  return program;
}

test('a process that ends before its seeds are done is reported, with its output', async (t) => {
  const program = programOf(t, `console.log('one'); console.error('out of memory'); process.exitCode = 3;`);
  const lines: string[] = [];
  const end = await runWorker({ command: 'plain', args: [], program }, (line) => lines.push(line));
  assert.deepEqual(lines, ['one']);
  assert.deepEqual(end, { why: 'exit 3\nout of memory' });
});

test('a process that is asked to finish ends its seed first', async (t) => {
  const program = programOf(
    t,
    `const stay = setInterval(() => {}, 1000);
     process.on('SIGTERM', () => { console.log('the seed is over'); clearInterval(stay); });
     console.log('begun');`,
  );
  const lines: string[] = [];
  const over = new AbortController();
  const end = await runWorker({ command: 'hunt', args: [], program, signal: over.signal }, (line) => {
    lines.push(line);
    if (line === 'begun') over.abort();
  });
  assert.deepEqual([lines, end], [['begun', 'the seed is over'], undefined]);
});

test('a process that is asked to finish before it listens has nothing to report', async (t) => {
  const program = programOf(t, 'setInterval(() => {}, 1000);');
  const signal = AbortSignal.abort();
  assert.equal(await runWorker({ command: 'plain', args: [], program, signal }, () => {}), undefined);
});

test('a finding is written with its timeline and with the hash of a run of its own', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-hunt-tool-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'new', 'seed-7.yaml');
  const scenario = foundBy(planOf(7), { rule: 'at most one', story: 'two live' });
  const said: string[] = [];
  const played: string[] = [];
  await keepFinding({
    file,
    scenario,
    drawn: scenario.schedule.length,
    say: (text) => said.push(text),
    play: async (of, { html }) => {
      played.push(`${path.basename(of)} ${path.basename(html ?? '')} ${readScenario(of).found?.trace ?? 'no trace'}`);
      return { traceHash: 'abc', violation: { rule: 'at most one', story: 'two live' } };
    },
  });
  assert.deepEqual(played, ['seed-7.yaml seed-7.html no trace']);
  assert.deepEqual(readScenario(file).found, { rule: 'at most one', story: 'two live', trace: 'abc' });
  assert.match(said[0] ?? '', /^seed 7 breaks a rule with (\d+) of \1 steps: two live$/);
});

test('the tally shows the speed in CPU time and the highest memory of a process', () => {
  const tally = new Tally();
  const report = { drawn: 9, reached: 40, steps: 1000, simulatedSeconds: 1800, cpuMs: 1500 };
  tally.add({ ...report, seed: 1, peakBytes: 300 * 1024 * 1024 });
  tally.add({ ...report, seed: 2, peakBytes: 200 * 1024 * 1024 });
  assert.equal(
    tally.inWords(),
    '2 seeds, 0 found: 2000 steps, 1.0 simulated hours, 40 seeds per CPU minute, at most 300 MB a process, 40 things reached',
  );
});

test('the table of planted bugs is sorted by the median of their hunts, from quickly found to missed', () => {
  const harms = new Map(['a', 'b', 'c', 'd'].map((name) => [name, `harm of ${name}`]));
  const hunt = (seeds: number, rule?: string) => ({ from: seeds, seeds, cpuSeconds: seeds, rule });
  const rows = [
    { name: 'a', hunts: [hunt(40), hunt(50), hunt(7, 'r')] },
    { name: 'b', hunts: [hunt(30, 'r'), hunt(40), hunt(2, 's')] },
    { name: 'c', hunts: [{ ...hunt(2.5, 'r'), world: 'older' as const }] },
  ];
  const lines = renderPlanted(rows, harms).split('\n');
  assert.match(lines.join(' '), /none of the 4 planted bugs. It was played against 3 of them and found 3, in up to 3 /);
  assert.deepEqual(
    lines.filter((line) => /^\| [abc] /.test(line)),
    [
      '| c | harm of c | 1 of 1 | 2.5 | 2.5 (older world) | 2.5 | r |',
      '| b | harm of b | 2 of 3 | 30 | 30, not in 40, 2 | 72 | r; s |',
      '| a | harm of a | 1 of 3 | none | not in 40, not in 50, 7 | 97 | r |',
    ],
  );
});
