import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { filesThatForce, forcesDeletion, MAY_FORCE } from './force-deletion.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('[UI-03] no client, script, test or page force-deletes unless the list has it with a reason', () => {
  const unlisted = filesThatForce(root).filter((file) => !Object.hasOwn(MAY_FORCE, file));
  assert.deepEqual(unlisted, [], 'ask for a graceful deletion, or say in tools/checks/force-deletion.ts why not');
});

test('[UI-03] the list names only files that still force a deletion, each with a reason', () => {
  const found = new Set(filesThatForce(root));
  assert.deepEqual(
    Object.keys(MAY_FORCE).filter((file) => !found.has(file)),
    [],
    'take these lines off tools/checks/force-deletion.ts',
  );
  for (const [file, why] of Object.entries(MAY_FORCE)) assert.ok(why.length > 10, file);
});

test('[UI-03] force deletion is detected in every notation', () => {
  for (const text of [
    'client.delete(PODS, target, { gracePeriodSeconds: 0, uid })',
    'DELETE /api/v1/namespaces/default/pods/x?gracePeriodSeconds=0',
    '{"gracePeriodSeconds":0}',
    'terminationGracePeriodSeconds: 0',
    'const gracePeriodSeconds = force ? 0 : undefined;',
    'kubectl delete pod x --grace-period=0',
    'kubectl delete pod x --grace-period 0',
    "run('delete', 'pod', 'x', '--grace-period', '0')",
    "run('delete', 'pod', 'x', '--force')",
  ]) {
    assert.ok(forcesDeletion(text), text);
  }
  for (const text of [
    '{ gracePeriodSeconds: 10 }',
    'gracePeriodSeconds: 0.5',
    'kubectl delete pod x --grace-period=1',
    'kubectl apply --server-side --force-conflicts',
    'gracePeriodSeconds === 0',
    'deletionGracePeriodSeconds = 0',
  ]) {
    assert.ok(!forcesDeletion(text), text);
  }
});
