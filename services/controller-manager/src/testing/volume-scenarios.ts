import assert from 'node:assert/strict';
import { NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS } from '@holdfast/api';
import { targetOf } from '../common/meta.ts';
import { node, pod } from './builders.ts';
import type { Managers, Scenario } from './scenarios.ts';
import { claim, volume } from './volume-builders.ts';

const volumes = [
  { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
  {
    name: 'scratch',
    ephemeral: {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
      },
    },
  },
];

async function bindAndLetGo(managers: Managers, live: Scenario): Promise<void> {
  const { api } = managers.world;
  const user = api.client('user');
  const phases = (): readonly unknown[] => api.list(PERSISTENT_VOLUMES).map(({ status }) => status.phase);
  api.put(NODES, node('node-a'));
  await user.create(PERSISTENT_VOLUME_CLAIMS, claim('data'));
  await user.create(PODS, pod({ name: 'db' }, {}, { volumes }));
  await user.create(PERSISTENT_VOLUMES, volume('small'));
  await user.create(PERSISTENT_VOLUMES, volume('large', { capacity: { storage: '3Gi' } }));
  await live(managers);
  assert.deepEqual(phases(), ['Bound', 'Bound']);
  await user.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'data' });
  await user.delete(PERSISTENT_VOLUMES, { name: 'small' });
  await live(managers);
  assert.deepEqual(phases(), ['Bound', 'Bound'], 'in use');
  for (const each of api.list(PODS)) await user.delete(PODS, targetOf(each));
  await live(managers);
  assert.deepEqual([api.list(PERSISTENT_VOLUME_CLAIMS), phases()], [[], ['Released']]);
}

/** `live` lets the managers and nodes work until a part of a scenario is over. */
export const volumeScenarios = (live: Scenario): Readonly<Record<string, Scenario>> => ({
  'claims of a pod are bound, protected and let go with it': (managers) => bindAndLetGo(managers, live),
});
