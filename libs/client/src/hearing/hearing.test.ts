import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease, Node } from '@holdfast/api/facts';
import { formatTime, parseTime } from '@holdfast/platform/time';
import type { HistoryChange } from '../history/documents.ts';
import { type HearingFacts, partiesOf } from './hearing.ts';
import { readHearing } from './read.ts';

const NOW = parseTime('2026-01-01T00:01:00Z') ?? 0;
const ago = (seconds: number): string => formatTime(NOW - seconds * 1000);

const nodeOf = (name: string, conditions: readonly object[] = []): Node =>
  ({ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: {}, status: { conditions } }) as unknown as Node;
const leaseOf = (name: string, seconds: number, duration = 40, annotations = {}): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, annotations },
  spec: { leaseDurationSeconds: duration, renewTime: ago(seconds) },
});
const change = (revision: number, seconds: number, user: string, any?: number): HistoryChange => ({
  revision: String(revision),
  time: ago(seconds),
  type: 'updated',
  object: { group: '', resource: 'pods', name: 'x' },
  by: { user },
  ...(any === undefined ? {} : { seen: { any: String(any) } }),
});

const READY = '[+]ping ok\n[+]etcd ok (log; survives the loss of one)\n[+]informer-sync ok\n';
const answering = (readyz: string | undefined) => [{ name: 'API server', readyz }];
const QUIET: HearingFacts = {
  nodes: [],
  nodeLeases: [],
  componentLeases: [],
  changes: [],
  servers: answering(READY),
  now: NOW,
};
const rows = (facts: Partial<HearingFacts>): readonly string[] =>
  partiesOf({ ...QUIET, ...facts }).map(({ name, isHeard, knows, store }) =>
    [name, ...[isHeard, knows, store].map(({ state, text }) => `${state} ${text}`.trim())].join(' | '),
  );

test('a node is heard while its lease lasts; then its silence and what was concluded from it are told', () => {
  const found = rows({
    nodes: [
      nodeOf('node-10'),
      nodeOf('node-2', [
        { type: 'Ready', status: 'Unknown' },
        { type: 'Fenced', status: 'True' },
      ]),
      nodeOf('node-3'),
    ],
    nodeLeases: [leaseOf('node-10', 2), leaseOf('node-2', 50)],
  });
  assert.deepEqual(
    found.slice(1).map((row) => row.split(' | ').slice(0, 2)),
    [
      ['node-2', 'silent silent for 50.0s, its lease is for 40.0s; declared not ready; cut off by the fencer'],
      ['node-3', 'unknown has no lease'],
      ['node-10', 'hears 2.0s ago'],
    ],
  );
});

test('each API server reports whether it reaches the store, and whether it hears of changes', () => {
  const well = 'hears answers | hears follows the store | hears log; survives the loss of one';
  assert.equal(rows({})[0], `API server | ${well}`);
  const failed =
    '[+]ping ok\n[-]etcd failed: the store has not answered for 5 s\n[-]informer-sync failed: pods are behind\n';
  assert.deepEqual(
    rows({
      servers: [
        { name: 'a-1', readyz: READY },
        { name: 'a-2', readyz: failed },
        { name: 'a-3', readyz: undefined },
      ],
    }),
    [
      `a-1 | ${well}`,
      'a-2 | hears answers | silent pods are behind | silent the store has not answered for 5 s',
      'a-3 | silent does not answer | unknown not known | unknown not known',
    ],
  );
});

test('what a party knew when it last wrote says whether it hears of changes', () => {
  const scheduler = [leaseOf('kube-scheduler', 1, 15)];
  const knows = (changes: readonly HistoryChange[]): string =>
    rows({ componentLeases: scheduler, changes })[1]?.split(' | ')[2] ?? '';
  const user = 'system:kube-scheduler';
  assert.equal(knows([]), 'unknown has not written of late');
  assert.equal(knows([change(5, 9, 'alice'), change(6, 3, user, 5)]), 'hears knew all changes when it last wrote');
  assert.equal(knows([change(5, 5, 'alice'), change(6, 3, user, 4)]), 'hears was 2.0s behind when it last wrote');
  assert.equal(knows([change(5, 40, 'alice'), change(6, 3, user, 4)]), 'late was 37.0s behind when it last wrote');
  assert.equal(
    knows([change(5, 19, user), change(6, 3, user, 4)]),
    'hears knew all changes when it last wrote',
    'its own',
  );
});

test('in a busy cluster a shorter time is asked, so that the newest changes are among those that were read', async () => {
  const asked: string[] = [];
  const facts = await readHearing({
    reader: { unread: new Set(), find: async () => 'absent', list: async () => [], events: async () => [] },
    read: async (_path, query) => {
      asked.push(query?.get('since') ?? '');
      const more = asked.length === 1 ? { continue: 'more' } : {};
      return { metadata: { resourceVersion: '9', ...more }, items: [change(9, 1, 'alice')] };
    },
    servers: async () => answering(READY),
    now: 0,
  });
  assert.deepEqual(asked, ['60s', '10s']);
  assert.equal(facts.now, NOW - 1000, 'the clock of the server');
});

test('of the past the leases and changes of that moment are read, and no server is asked', async () => {
  const asked: string[] = [];
  const facts = await readHearing({
    reader: { unread: new Set(), find: async () => 'absent', list: async () => [], events: async () => [] },
    read: async (_path, query) => {
      asked.push(`${query?.get('fromTime')} ${query?.get('toTime')}`);
      return { metadata: { resourceVersion: '9' }, items: [change(9, 100, 'alice')] };
    },
    servers: () => Promise.reject(new Error('nobody is asked')),
    now: NOW + 3_600_000,
    at: NOW,
  });
  assert.deepEqual(asked, ['2026-01-01T00:00:00Z 2026-01-01T00:01:00Z']);
  assert.deepEqual([facts.now, facts.servers], [NOW, []]);
});
