import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '@holdfast/cluster/explore';
import { exploreOwn } from '../explore/explore-own.ts';

/** One plan of the many: `node test/explore/own-main.ts` tries them all. */
const ONLY: Plan = {
  kind: 'crash',
  moment: 'after',
  write: { verb: 'create', resource: 'pods', namespace: 'default', name: 'db-0', nth: 1 },
};

test('our StatefulSet controller, as a process over HTTPS, is killed in the middle of its work and ends with the same', async () => {
  const { reference, accusations, tried } = await exploreOwn('statefulset-start', {
    plans: 1,
    only: ONLY,
    quietMs: 300,
  });
  const writes = reference.trace.writes.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
  assert.ok(writes.includes('create pods db-0') && writes.includes('create pods db-1'), writes.join(', '));
  assert.deepEqual([tried, accusations.map(({ findings }) => findings)], [1, []]);
});
