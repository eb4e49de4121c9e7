import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type ConfigMap, NAMESPACES, type Namespace } from '@holdfast/api';
import fc from 'fast-check';
import { createWorld, DrivenController, settleAll } from '../../testing/harness.ts';
import { decide, rootCaController } from './index.ts';

const namespace = (name: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Active' },
});

test('every namespace gets the root certificate, and a changed or removed one is restored at once', async () => {
  const world = createWorld();
  world.api.put(NAMESPACES, namespace('a'));
  const controllers = [new DrivenController(world, rootCaController({ rootCa: 'PEM' }))];
  await settleAll(controllers);
  const published = () =>
    world.api.list(CONFIG_MAPS).map((map) => [map.metadata.namespace, map.metadata.name, map.data]);
  assert.deepEqual(published(), [['a', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]]);
  const [map] = world.api.list(CONFIG_MAPS);
  assert.ok(map !== undefined);
  world.api.put(CONFIG_MAPS, { ...map, data: { 'ca.crt': 'other' } });
  await settleAll(controllers);
  assert.deepEqual(published(), [['a', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]]);
  world.api.drop(CONFIG_MAPS, { namespace: 'a', name: 'kube-root-ca.crt' });
  await settleAll(controllers);
  assert.deepEqual(published(), [['a', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]]);
});

const words = fc.dictionary(fc.constantFrom('ca.crt', 'extra', 'more'), fc.constantFrom('PEM', 'other', ''));

test('with any published data: a live namespace has only the certificate, foreign labels stay, and a second pass writes nothing', () => {
  fc.assert(
    fc.property(fc.option(words), words, fc.boolean(), (data, labels, terminating) => {
      const of = namespace('a');
      const going = { ...of, metadata: { ...of.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
      const metadata = { namespace: 'a', name: 'kube-root-ca.crt', labels };
      const existing: ConfigMap | undefined =
        data === null ? undefined : { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      const action = decide(terminating ? going : of, existing, 'PEM');
      if (terminating) {
        assert.equal(action, undefined);
        return;
      }
      const after = action?.object ?? existing;
      assert.deepEqual([after?.metadata.namespace, after?.metadata.name], ['a', 'kube-root-ca.crt']);
      assert.deepEqual({ ...after?.data }, { 'ca.crt': 'PEM' });
      if (existing !== undefined) assert.deepEqual(after?.metadata, metadata);
      if (action !== undefined) assert.equal(action.kind, existing === undefined ? 'create' : 'update');
      assert.equal(decide(of, after, 'PEM'), undefined, 'no thrash');
    }),
  );
});
