import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, Pod } from '@holdfast/api';
import { parseScenario } from '../parse.ts';
import { Recorder } from './recorder.ts';
import { renderTimeline } from './render.ts';

const SCENARIO = parseScenario(`name: a node loses its network
length: 60s
workload: { db: { disks: true } }
schedule:
  - { at: 5s, do: isolate, target: node-1, for: 40s }
`);
const fact = (kind: 'started' | 'ended', podUid: string, node: string) => ({
  kind,
  node,
  podName: 'db-0',
  podUid,
  namespace: 'default',
  container: 'main',
});
const ATTACHED: PersistentVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'disk-of-db-0' },
  spec: {},
  status: { fencingToken: 3, attachment: { nodeName: 'node-1', nodeUID: 'n' } },
};
const STEP = { at: 5, do: 'isolate', target: 'node-1', for: 40 } as const;

test('a recorded run has lanes for nodes, identities and volumes, and its times begin with the schedule', () => {
  const recorder = new Recorder(SCENARIO);
  recorder.process(900, fact('started', 'a', 'node-1'));
  recorder.begins(1_000, [ATTACHED]);
  recorder.step(6_000, STEP);
  recorder.process(14_000, fact('started', 'b', 'node-2'));
  recorder.stepOver(46_000, STEP);
  recorder.healed(61_000);
  recorder.ends(70_000, { rule: 'at most one', story: 'a and b live' });
  const { lanes, broken, healedMs, toMs } = recorder.timeline();
  assert.deepEqual(
    lanes.map(({ group, name }) => `${group}: ${name}`),
    ['nodes: node-1', 'nodes: node-2', 'identities: db-0', 'volumes: disk-of-db-0'],
  );
  const [first, , identity] = lanes;
  assert.deepEqual(
    first?.bars.map(({ kind, fromMs, toMs: until }) => [kind, fromMs, until]),
    [
      ['fault', 5_000, 45_000],
      ['life', -100, 69_000],
    ],
  );
  assert.deepEqual(new Set(identity?.bars.map(({ shade }) => shade)), new Set([0, 1]), 'each pod has its own shade');
  const held = lanes.at(-1)?.bars.find(({ kind }) => kind === 'held');
  assert.equal(held?.text, 'attached to node-1, token 3', 'what was attached before the run');
  assert.deepEqual([healedMs, broken], [60_000, [{ atMs: 69_000, rule: 'at most one', story: 'a and b live' }]]);
  assert.ok(toMs > 69_000, 'what happens at the end has a place');
  assert.match(renderTimeline(recorder.timeline()), /node-1 loses its network/);
});

test('each state of a pod is said once, with who wrote it', () => {
  const recorder = new Recorder(SCENARIO);
  const commit = (atMs: number, by: string, phase: 'Pending' | 'Running', node?: string): void => {
    const spec = { containers: [], ...(node === undefined ? {} : { nodeName: node }) };
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name: 'db-0', uid: 'aaaaaaaa-bbbb' },
      spec,
      status: { phase },
    };
    const operation = {
      kind: 'update',
      key: 'core/pods/default/db-0',
      value: JSON.stringify(pod),
      expectedRevision: 0,
    } as const;
    recorder.commit(atMs, { revision: 1, operation, by });
  };
  commit(1_000, 'scheduler', 'Pending', 'node-1');
  commit(2_000, 'node', 'Running', 'node-1');
  commit(3_000, 'admin', 'Running', 'node-1');
  recorder.ends(4_000, undefined);
  assert.deepEqual(
    recorder.timeline().lanes[0]?.marks.map(({ text }) => text),
    ['aaaaaaaa is bound to node-1', 'aaaaaaaa is Running, says node'],
  );
});
