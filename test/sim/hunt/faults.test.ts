import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, PODS, type Pod } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { SimCluster } from '../cluster.ts';
import { FAULT_ACTIONS } from './fault-actions.ts';
import { createFaultyStore, goodWay, type StoreWay } from './faulty-store.ts';
import type { FaultKind } from './kinds.ts';
import type { Scene } from './scene.ts';

const UP_MS = 20_000;
/** Until then a follower watches as well. */
const BUS_TRUSTED_MS = 65_000;

const podNamed = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name },
  spec: { containers: [{ name: 'main', image: 'busybox', resources: {} }] },
  status: {},
});

/** A small cluster, and the parts of a scene that faults of processes need. */
async function setScene() {
  const ways = new Map<string, StoreWay>();
  const cluster = new SimCluster({
    seed: 1,
    nodes: 1,
    identities: /^/,
    storeOf: (store, machine) => {
      const way = ways.get(machine.name) ?? goodWay();
      ways.set(machine.name, way);
      return createFaultyStore(store, machine, way);
    },
  });
  cluster.start();
  await cluster.kernel.runFor(UP_MS);
  const lost = { poweredOff: new Set<string>(), fenced: new Set<string>(), retired: new Set<string>() };
  const scene = { cluster, ways, crashed: new Set<string>(), doomed: new Map(), ...lost } as unknown as Scene;
  const begin = (kind: FaultKind, target: string, more: { at?: number; value?: number } = {}): (() => void) =>
    FAULT_ACTIONS[kind](scene, { at: 0, do: kind, target, ...more }) ?? (() => {});
  return { cluster, scene, begin };
}

const settings = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name } });

const codeOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: unknown) => (error instanceof StatusError ? error.code : 0),
  );

test('a full store takes no write but removals, and reads', async () => {
  const { cluster, begin } = await setScene();
  const { admin } = cluster;
  await cluster.ask(admin.create(CONFIG_MAPS, settings('a')));
  const end = begin('store-full', '');
  assert.notEqual(await cluster.ask(codeOf(admin.create(CONFIG_MAPS, settings('b')))), 200);
  assert.equal(await cluster.ask(codeOf(admin.get(CONFIG_MAPS, { namespace: 'default', name: 'a' }))), 200);
  assert.equal(await cluster.ask(codeOf(admin.delete(CONFIG_MAPS, { namespace: 'default', name: 'a' }))), 200);
  end();
  assert.equal(await cluster.ask(codeOf(admin.create(CONFIG_MAPS, settings('b')))), 200);
});

test('an expired credential is refused, of this process alone', async () => {
  const { cluster, begin } = await setScene();
  const end = begin('expired-token', 'user');
  assert.equal(await cluster.ask(codeOf(cluster.admin.list(CONFIG_MAPS, {}))), 401);
  begin('expired-token', 'node-1')();
  end();
  assert.equal(await cluster.ask(codeOf(cluster.admin.list(CONFIG_MAPS, {}))), 200);
});

test('an API server refuses requests as too many, and none of them has an effect', async () => {
  const { cluster, begin } = await setScene();
  const end = begin('too-many', 'apiserver', { value: 1 });
  assert.equal(await cluster.ask(codeOf(cluster.admin.create(CONFIG_MAPS, settings('a')))), 429);
  end();
  assert.deepEqual(
    cluster.committed.list(CONFIG_MAPS).filter(({ metadata }) => metadata.name === 'a'),
    [],
  );
  assert.equal(await cluster.ask(codeOf(cluster.admin.create(CONFIG_MAPS, settings('a')))), 200);
});

test('a busy API server has forgotten what a watch asks for, and the next one knows it', async () => {
  const { cluster, begin } = await setScene();
  const create = (name: string) => cluster.ask(cluster.admin.create(CONFIG_MAPS, settings(name)));
  const { resourceVersion = '' } = (await create('a')).metadata;
  for (const name of ['b', 'c', 'd']) await create(name);
  const { signal } = new AbortController();
  const watch = async (): Promise<void> => {
    for await (const { object } of cluster.admin.watch(CONFIG_MAPS, { resourceVersion, signal })) {
      assert.equal(object.metadata.name, 'b');
      return;
    }
  };
  const end = begin('short-history', 'apiserver', { value: 2 });
  assert.equal(await cluster.ask(codeOf(watch())), 410);
  end();
  assert.equal(await cluster.ask(codeOf(watch())), 200);
});

test('a follower does not hear of one kind of objects, and recovers by itself', async () => {
  const { cluster, begin } = await setScene();
  const pods = cluster.follow('observer', PODS);
  await cluster.kernel.runFor(BUS_TRUSTED_MS);
  const knows = (name: string): boolean => pods.get({ namespace: 'default', name }) !== undefined;
  const end = begin('lost-kind', 'observer');
  await cluster.ask(cluster.admin.create(PODS, podNamed('another')));
  await cluster.kernel.runFor(1_000);
  assert.equal(knows('another'), false);
  await cluster.kernel.runUntil('the heartbeats show the loss', () => knows('another'), UP_MS);
  end();
});

test('all processes of the control plane end at one moment, and start again', async () => {
  const { cluster, scene, begin } = await setScene();
  const end = begin('masters-down', '');
  assert.deepEqual([...scene.crashed], cluster.controlPlane);
  assert.equal(await cluster.ask(codeOf(cluster.admin.list(CONFIG_MAPS, {}))), 0);
  end();
  assert.equal(scene.crashed.size, 0);
  await cluster.kernel.runFor(UP_MS);
  assert.equal(await cluster.ask(codeOf(cluster.admin.list(CONFIG_MAPS, {}))), 200);
});

test('a node whose disk is full starts nothing new until there is room, and a slow one takes its time', async () => {
  const { cluster, begin } = await setScene();
  const full = begin('disk-full', 'node-1');
  const slow = begin('disk-slow', 'node-1', { value: 500 });
  await cluster.ask(cluster.admin.create(PODS, podNamed('p')));
  const phase = (): string | undefined => cluster.committed.list(PODS)[0]?.status.phase;
  await cluster.kernel.runFor(UP_MS);
  assert.equal(phase(), 'Pending');
  full();
  await cluster.kernel.runUntil('the pod runs', () => phase() === 'Running', 10 * UP_MS);
  slow();
});
