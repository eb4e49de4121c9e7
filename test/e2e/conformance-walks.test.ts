import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WALKS } from '../support/conformance/index.ts';
import { walkOn } from '../support/conformance/walked-cluster.ts';

/** One of so many: the whole table takes minutes on each kind of node (`npm run walks`). */
const DRAWN = [
  { kind: 'process', oneOf: 4 },
  { kind: 'process without root', oneOf: 4 },
  { kind: 'docker', oneOf: 9 },
] as const;

for (const [place, { kind, oneOf }] of DRAWN.entries())
  test(`conformance tests that one pod shows hold on nodes of the kind ${kind}, as the table says`, async () => {
    // Changes of maps reach a volume within a minute.
    const quick = WALKS.filter(({ title }) => !title.includes('updates should be reflected'));
    const drawn = quick.filter((_, index) => index % oneOf === place);
    // Without root there are no other processes.
    const hasRoot = process.getuid?.() === 0;
    assert.deepEqual(await walkOn(kind === 'process' && !hasRoot ? 'process without root' : kind, drawn), []);
  });
