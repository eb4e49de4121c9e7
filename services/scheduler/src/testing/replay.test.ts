import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { differences, type Recorded } from './replay.ts';

const recorded = JSON.parse(
  readFileSync(new URL('fixtures/recorded-decisions.json', import.meta.url), 'utf8'),
) as Recorded[];

test('[SPREAD-38] [SPREAD-48] recorded decisions of Kubernetes 1.32 are reproduced: every message, every node or an equal one', () => {
  assert.equal(recorded.length, 60);
  assert.deepEqual(recorded.flatMap(differences), []);
});

test('a replay detects a wrong message and a worse node', () => {
  const [refused] = recorded.filter(({ expect }) => expect.unschedulable !== undefined);
  const [placed] = recorded.filter(({ expect }) => Object.keys(expect.nodes ?? {}).length === 1);
  assert.ok(refused !== undefined && placed !== undefined);
  const lied = { ...refused, expect: { unschedulable: `${refused.expect.unschedulable} ` } };
  assert.equal(differences(lied).length, 2);
  const other = placed.nodes.find(({ name }) => placed.expect.nodes?.[name] === undefined)?.name ?? '';
  assert.notDeepEqual(differences({ ...placed, expect: { nodes: { [other]: 6 } } }), []);
});
