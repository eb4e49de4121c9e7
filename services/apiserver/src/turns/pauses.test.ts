import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import type { HttpMethod } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import { TURN_MS } from '../limits.ts';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const MASTERS = ['system:masters', 'system:authenticated'];
/** Decoding, defaults, ownership, admission, validation and encoding are each followed by a pause. */
const PAUSES_MIN = 5;

let api: TestApi;
beforeEach(async () => {
  let now = 0;
  api = await startTestApi({
    // Each look at this clock finds that the turn is over.
    clock: { ...createSystemClock(), monotonic: () => (now += 2 * TURN_MS) },
    tokens: new Map(['slow', 'other'].map((name) => [name, { name, groups: MASTERS }])),
  });
  await api.call('POST', MAPS, { as: 'slow', body: configMapBody('there', { k: 'v' }) });
});
afterEach(() => api.stop());

const WRITES: readonly (readonly [
  name: string,
  method: HttpMethod,
  path: string,
  contentType: string,
  body: unknown,
])[] = [
  ['a creation', 'POST', MAPS, 'application/json', configMapBody('new', { k: 'v' })],
  ['an update', 'PUT', `${MAPS}/there`, 'application/json', configMapBody('there', { k: 'w' })],
  [
    'a JSON patch',
    'PATCH',
    `${MAPS}/there`,
    'application/json-patch+json',
    [{ op: 'add', path: '/data/l', value: 'w' }],
  ],
  ['a merge patch', 'PATCH', `${MAPS}/there`, 'application/merge-patch+json', { data: { l: 'w' } }],
  ['a strategic merge patch', 'PATCH', `${MAPS}/there`, 'application/strategic-merge-patch+json', { data: { l: 'w' } }],
  [
    'an apply',
    'PATCH',
    `${MAPS}/there?fieldManager=m&force=true`,
    'application/apply-patch+yaml',
    configMapBody('there', { l: 'w' }),
  ],
];

for (const [name, method, path, contentType, body] of WRITES) {
  test(`a long ${name} yields to others between its steps`, async () => {
    let isDone = false;
    const write = api.call(method, path, { as: 'slow', headers: { 'content-type': contentType }, body });
    const status = write.then((answer) => {
      isDone = true;
      return answer.status;
    });
    let served = 0;
    for (; !isDone; served += 1) await api.call('GET', `${MAPS}/there`, { as: 'other' });
    assert.ok((await status) < 300);
    assert.ok(served >= PAUSES_MIN, `${served} reads of another user were served meanwhile`);
  });
}
