import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { appendLine, readLines } from './json-lines.ts';
import { formatPlayed, type PlayedSlice, sliceOf } from './played-slices.ts';

const SLICE: PlayedSlice = {
  run: 'seed-1-S',
  outages: [{ kind: 'isolate', ms: 11_000 }],
  requests: 7,
  failed: 2,
  commits: 5,
  broken: [],
};

test('what is played in parts is reported as one campaign, with all that is broken in it', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-slices-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'slices.jsonl');
  appendLine(file, SLICE);
  appendLine(file, {
    ...SLICE,
    run: 'seed-2-S',
    outages: [{ kind: 'isolate', ms: 500 }],
    broken: ['a write is lost'],
  });
  const lines = formatPlayed(readLines<PlayedSlice>(file)).split('\n');
  assert.deepEqual(lines.slice(2), [
    '| isolate | 2 | 0.5 | 11.0 | 11.0 | 1 |',
    '| all | 2 | 0.5 | 11.0 | 11.0 | 1 |',
    '2 played, 2 faults, 10 commits, 14 requests judged, 4 of them without an answer; 1 with something broken',
    'BROKEN (seed-2-S): a write is lost',
  ]);
});

test('a run that fails before it is judged counts as broken', () => {
  const work = { name: 'seed-3-H', bugs: [], isOfSuite: false };
  const slice = sliceOf({ ...work, verdict: undefined } as unknown as Parameters<typeof sliceOf>[0]);
  assert.deepEqual([slice.run, slice.broken], ['seed-3-H', ['the run failed']]);
});
