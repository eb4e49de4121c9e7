import assert from 'node:assert/strict';
import { NODES, PODS } from '@holdfast/api';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from './compose-cluster.ts';
import { doubleLives, readLives } from './heartbeats.ts';
import {
  allReady,
  chooseVictim,
  holds,
  IDENTITIES,
  identitiesOf,
  isReady,
  lastSign,
  nobodyLivesOutsideTheStore,
  podsOf,
  REPLICAS,
  recoveredWithout,
  SILENCE_MS,
  sameObjects,
} from './workloads.ts';

/**
 * How long the lost node stays disconnected after its pods were deleted: enough time for a wrong replacement to appear.
 */
const HOLD_MS = 15_000;
const SETTLE_DEADLINE_MS = 60_000;

const clock = createSystemClock();

/** A node is cut off for longer than the eviction time, and comes back. */
export async function cutOffNode(cluster: ComposeCluster): Promise<void> {
  const { admin, sharedFolder } = cluster;
  const lost = await chooseVictim(admin);
  const lostIdentities = (await podsOf(admin, 'db')).filter((pod) => pod.spec?.nodeName === lost);
  await waitFor('signs of life of every pod', async () => {
    return (await readLives(sharedFolder)).length >= IDENTITIES + REPLICAS;
  });

  await cluster.disconnect(lost);
  await waitFor('the control plane to notice', async () => !(await isReady(admin, lost)), SETTLE_DEADLINE_MS);
  await waitFor('the Deployment to recover elsewhere', () => recoveredWithout(admin, lost), SETTLE_DEADLINE_MS);
  await waitFor(
    'the pods of the lost node to be told to go',
    async () => (await sameObjects(admin, lostIdentities)).every((pod) => pod?.metadata.deletionTimestamp),
    SETTLE_DEADLINE_MS,
  );
  await holds(HOLD_MS, async () => {
    for (const [index, pod] of (await sameObjects(admin, lostIdentities)).entries()) {
      const was = lostIdentities[index]?.metadata;
      assert.equal(pod?.metadata.uid, was?.uid, `${was?.name} is not replaced while nobody knows that it ended`);
      assert.ok(pod?.metadata.deletionTimestamp, `${was?.name} stays Terminating`);
    }
  });
  const during = await readLives(sharedFolder);
  assert.deepEqual(doubleLives(identitiesOf(during)), []);
  for (const { metadata } of lostIdentities) {
    const silence = clock.now() - lastSign(during, metadata.uid);
    assert.ok(silence < SILENCE_MS, `${metadata.name} really runs on behind the cut: silent for ${silence} ms`);
  }

  await cluster.connect(lost);
  await waitFor('the node to be ready again', () => isReady(admin, lost), SETTLE_DEADLINE_MS);
  await waitFor('every pod to be ready again', () => allReady(admin), SETTLE_DEADLINE_MS);
  for (const [index, pod] of (await sameObjects(admin, lostIdentities)).entries()) {
    assert.notEqual(pod?.metadata.uid, lostIdentities[index]?.metadata.uid, 'the identity lives in a new pod');
  }
  await waitFor('the old processes to be gone', async () => {
    const lives = await readLives(sharedFolder);
    return lostIdentities.every(({ metadata }) => clock.now() - lastSign(lives, metadata.uid) > SILENCE_MS);
  });
  assert.deepEqual(doubleLives(identitiesOf(await readLives(sharedFolder))), []);
  await nobodyLivesOutsideTheStore(admin, sharedFolder);
}

/** An administrator forces a deletion while the node of the pod is cut off. */
export async function forceDoubleRun(cluster: ComposeCluster): Promise<void> {
  const { admin, sharedFolder } = cluster;
  const lost = await chooseVictim(admin);
  const [forced] = (await podsOf(admin, 'db')).filter((pod) => pod.spec?.nodeName === lost);
  const name = forced?.metadata.name ?? '';
  await admin.patch(NODES, { name: lost }, { type: 'merge', body: { spec: { unschedulable: true } } });
  await cluster.disconnect(lost);
  await admin.delete(PODS, { namespace: 'default', name }, { gracePeriodSeconds: 0 });
  const doubles = async () => doubleLives((await readLives(sharedFolder)).filter((life) => life.pod === name)).length;
  await waitFor(`${name} to live twice`, async () => (await doubles()) > 0, SETTLE_DEADLINE_MS);

  await cluster.connect(lost);
  await admin.patch(NODES, { name: lost }, { type: 'merge', body: { spec: { unschedulable: null } } });
  await waitFor(
    'the forgotten process to be ended',
    async () => clock.now() - lastSign(await readLives(sharedFolder), forced?.metadata.uid) > SILENCE_MS,
    SETTLE_DEADLINE_MS,
  );
  await waitFor('every pod to be ready again', () => allReady(admin), SETTLE_DEADLINE_MS);
  await nobodyLivesOutsideTheStore(admin, sharedFolder);
}
