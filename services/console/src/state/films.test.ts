import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Api, ApiFailure } from './api.ts';
import { isOver, readFilms } from './films.ts';
import { parse } from './times.ts';

const NODE = 'node-2';
const ROOT = '/holdfast.io/history/v1';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** A cluster of one node with one pod, which was silent from the beginning. */
const DOCUMENTS: Readonly<Record<string, unknown>> = {
  [ROOT]: {
    oldest: { revision: '1', time: '2026-01-01T00:00:00Z' },
    newest: { revision: '9', time: '2026-01-01T00:01:00Z' },
  },
  '/api/v1/nodes': [{ metadata: { name: NODE }, status: { conditions: [{ type: 'Ready', status: 'True' }] } }],
  [LEASES]: [
    {
      metadata: { namespace: 'kube-node-lease', name: NODE },
      spec: { leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z' },
    },
  ],
  '/api/v1/pods': [
    { metadata: { namespace: 'default', name: 'db-1' }, spec: { nodeName: NODE }, status: { phase: 'Running' } },
  ],
  '/api/v1/persistentvolumes': [],
};

function clusterApi(): { readonly api: Api; readonly asked: string[] } {
  const asked: string[] = [];
  const answer = (path: string): unknown => {
    if (path === '/api/v1/events') throw new ApiFailure(403, 'events is forbidden');
    if (path.startsWith(`${ROOT}/changes`)) return { metadata: { resourceVersion: '9' }, items: [] };
    const listed = path.startsWith(`${ROOT}/objects`) ? path.slice(`${ROOT}/objects`.length) : path;
    const items = DOCUMENTS[listed];
    return listed === path ? items : { metadata: { resourceVersion: '1' }, items };
  };
  const api: Api = {
    json: async <T>(path: string, { query = {} }: { readonly query?: Readonly<Record<string, string>> } = {}) => {
      asked.push(`${path}?${new URLSearchParams(query).toString()}`);
      return answer(path) as T;
    },
    text: async () => '',
    stream: async () => (async function* () {})(),
  };
  return { api, asked };
}

test('the loss of a node is shown with the rights of the user: without events, too', async () => {
  const { api } = clusterApi();
  const { films, left, isCut } = await readFilms(api, { node: '', sinceMs: 600_000 });
  assert.deepEqual([films.length, left, isCut], [1, 0, false]);
  assert.deepEqual(films[0]?.waits, ['db-1 waits: node-2 is silent, but not declared lost yet; it may be running']);
  assert.equal(films.every(isOver), false);
});

test('a film of the past ends at the chosen moment', async () => {
  const { api, asked } = clusterApi();
  const untilMs = parse('2026-01-01T00:00:30Z') ?? assert.fail();
  assert.deepEqual(
    (await readFilms(api, { node: '', sinceMs: 600_000, untilMs })).films,
    [],
    'the lease was good then',
  );
  const changes = asked.filter((each) => each.startsWith(`${ROOT}/changes`));
  assert.ok(
    changes.length > 0 && changes.every((each) => each.includes('toTime=2026-01-01T00%3A00%3A30')),
    asked.join(),
  );
});
