import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NAMESPACES, NODES, PODS, type Pod, ROLE_BINDINGS, ROLES } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { SimCluster } from './cluster.ts';
import { OWNER } from './users.ts';
import { createWorkloads, isReady, podThatStops } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const NODE_COUNT = 4;
const REPLICAS = 3;
const SEEDS = [1, 2, 3];
/** Node monitor grace (50 s), toleration (300 s), and some. */
const EVICTION_DEADLINE_MS = 7 * MINUTE_MS;
const REPLACEMENT_DEADLINE_MS = 3 * MINUTE_MS;
const HEAL_DEADLINE_MS = 3 * MINUTE_MS;
const LONG_MS = 30 * MINUTE_MS;
const RBAC = 'rbac.authorization.k8s.io';
const TEAM = 'team';
const TEAM_POD = 'left-behind';
const PET = { namespace: 'default', name: 'db-2' } as const;

interface Scene {
  readonly cluster: SimCluster;
  readonly world: World;
  /** Pet 2 as it was before its node was lost. */
  readonly pet: Pod;
  readonly lost: string;
}

/** Three pets on three of four nodes; the node of pet 2 is about to be lost. */
async function setScene(seed: number): Promise<Scene> {
  const cluster = new SimCluster({ seed, nodes: NODE_COUNT, identities: new RegExp(`^(db-\\d+|${TEAM_POD})$`) });
  const world = new World(cluster);
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  await world.until(
    'both workloads are up',
    SETTLE_DEADLINE_MS,
    () => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS),
  );
  assert.equal(new Set(world.pods('db').map(({ spec }) => spec.nodeName)).size, REPLICAS, 'each pet on its own node');
  const pet = world.pod(PET.name);
  return { cluster, world, pet, lost: pet.spec.nodeName ?? '' };
}

/** The owner may delete the pods of one namespace, and nothing else. */
async function allowOwnerToDeletePods(cluster: SimCluster): Promise<void> {
  const metadata = { namespace: PET.namespace, name: 'deletes-pods' };
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }];
  await cluster.ask(cluster.admin.create(ROLES, { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules }));
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: metadata.name };
  const subjects = [{ apiGroup: RBAC, kind: 'User', name: OWNER }];
  await cluster.ask(
    cluster.admin.create(ROLE_BINDINGS, { apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects }),
  );
}

const isForbidden = (error: unknown): boolean => error instanceof StatusError && error.code === 403;

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';

/** Pets 0 and 1: as long as they live, the application decides. */
const quorum = (world: World): readonly string[] => ['db-0', 'db-1'].map((name) => uidOf(world.pod(name)));

for (const seed of SEEDS) {
  test(`[EXS-29] [SAFE-14] [SAFE-22] a pet on a lost node has no replacement until its unprivileged owner force-deletes it; then it runs elsewhere (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, pet, lost } = scene;
    const survivors = quorum(world);
    await allowOwnerToDeletePods(cluster);
    cluster.network.isolate(lost);
    await waitInVain(scene);
    assert.deepEqual(quorum(world), survivors, 'the quorum is untouched');

    await assert.rejects(cluster.ask(cluster.owner.get(PODS, PET)), isForbidden);
    await assert.rejects(cluster.ask(cluster.owner.delete(NODES, { name: lost })), isForbidden);
    cluster.oracle.release(PET.namespace, PET.name);
    await cluster.ask(cluster.owner.delete(PODS, PET, { gracePeriodSeconds: 0 }));
    await world.until('pet 2 runs again', REPLACEMENT_DEADLINE_MS, () => world.isUp('db', REPLICAS));
    const next = world.pod(PET.name);
    assert.notEqual(uidOf(next), uidOf(pet));
    assert.notEqual(next.spec.nodeName, lost);
    assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name), [lost, next.spec.nodeName]);
    assert.deepEqual(quorum(world), survivors, 'the quorum is untouched');

    cluster.network.rejoin(lost);
    await world.until('the old life ends', HEAL_DEADLINE_MS, () => isOnlyOn(scene, next));
    assert.equal(uidOf(world.pod(PET.name)), uidOf(next), 'the new member stays');
  });
}

/** Long after everybody has given the node up, its pet still holds its name. */
async function waitInVain({ cluster, world, pet, lost }: Scene): Promise<void> {
  const isAsked = (): boolean => world.pod(PET.name).metadata.deletionTimestamp !== undefined;
  await world.until('the node is given up', EVICTION_DEADLINE_MS, isAsked);
  for (const endAt = cluster.kernel.elapsedMs + LONG_MS; cluster.kernel.elapsedMs < endAt; ) {
    await cluster.kernel.runFor(MINUTE_MS);
    await world.until('a look', SETTLE_DEADLINE_MS, () => true);
    const waiting = world.pod(PET.name);
    assert.deepEqual([uidOf(waiting), waiting.spec.nodeName], [uidOf(pet), lost], 'the same pet, still terminating');
    assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name), [lost], 'one life, out of reach');
  }
}

function isOnlyOn({ cluster }: Scene, { spec }: Pod): boolean {
  const [node, ...more] = cluster.oracle.nodesOf(PET.namespace, PET.name);
  return node === spec.nodeName && more.length === 0;
}

for (const seed of SEEDS) {
  test(`[EXS-33] [SAFE-17] [SAFE-18] [SAFE-20] [SAFE-31] a lost node is deleted: nothing waits for it any more; it returns as a new node without a past (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, lost } = scene;
    await leaveBehind(scene);
    const past = new Set(podsOn(world, lost).flatMap(marksOf));
    const oldNode = world.findNode(lost)?.metadata.uid;
    assert.ok(oldNode !== undefined);
    for (const [namespace, name] of [
      [PET.namespace, PET.name],
      [TEAM, TEAM_POD],
    ] as const)
      cluster.oracle.release(namespace, name);
    await cluster.ask(cluster.admin.delete(NODES, { name: lost }));
    const findTeam = () => cluster.ask(cluster.admin.find(NAMESPACES, { name: TEAM }));
    await world.until(
      'the pods of the node are gone, pet 2 and the Deployment run elsewhere',
      REPLACEMENT_DEADLINE_MS,
      () => !hasAny(world, past) && world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS),
    );
    await cluster.kernel.runFor(MINUTE_MS);
    assert.equal(await findTeam(), undefined, 'the namespace is gone');
    const next = world.pod(PET.name);
    assert.notEqual(next.spec.nodeName, lost);
    assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name), [lost, next.spec.nodeName]);
    assert.deepEqual(cluster.oracle.nodesOf(TEAM, TEAM_POD), [lost], 'its process still runs, out of reach');

    cluster.network.rejoin(lost);
    await comeBack(scene, { oldNode, past });
    assert.equal(uidOf(world.pod(PET.name)), uidOf(next), 'pet 2 stays where it is');
    assert.ok(isOnlyOn(scene, next));
    assert.equal(await findTeam(), undefined);
  });
}

/** A pod of a namespace of its own on the node; then the node is cut off, and the namespace waits for it without end. */
async function leaveBehind({ cluster, world, lost }: Scene): Promise<void> {
  const { admin } = cluster;
  await cluster.ask(
    admin.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TEAM }, spec: {}, status: {} }),
  );
  await cluster.ask(admin.create(PODS, podThatStops({ namespace: TEAM, name: TEAM_POD }, lost)));
  await world.until('the pod of the team runs', SETTLE_DEADLINE_MS, () => isReady(world.pod(TEAM_POD)));
  cluster.network.isolate(lost);
  await cluster.ask(admin.delete(NAMESPACES, { name: TEAM }));
  await cluster.kernel.runFor(5 * MINUTE_MS);
  const waiting = await cluster.ask(admin.get(NAMESPACES, { name: TEAM }));
  assert.equal(waiting.status.phase, 'Terminating', 'a pod out of reach holds its namespace');
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.notEqual(world.pod(TEAM_POD).metadata.deletionTimestamp, undefined);
}

/** Checked at every look: no deleted pod is there again, and the node is not ready while something of its past lives. */
async function comeBack(
  { cluster, world, lost }: Scene,
  { oldNode, past }: { readonly oldNode: string; readonly past: ReadonlySet<string> },
): Promise<void> {
  const isPastOver = (): boolean =>
    [cluster.oracle.nodesOf(PET.namespace, PET.name), cluster.oracle.nodesOf(TEAM, TEAM_POD)].every(
      (nodes) => !nodes.includes(lost),
    );
  let sawNotReady = false;
  let wasOverBefore = false;
  const check = (): boolean => {
    assert.equal(hasAny(world, past), false, 'a deleted pod is there again');
    const node = world.findNode(lost);
    if (node === undefined) {
      wasOverBefore = isPastOver();
      return false;
    }
    assert.notEqual(node.metadata.uid, oldNode, 'a node of its own');
    const isNodeReady = world.readyNodes().includes(lost);
    sawNotReady ||= !isNodeReady;
    if (isNodeReady) assert.ok(isPastOver(), 'ready only when the old processes are dead');
    return isNodeReady;
  };
  await world.until('the node is back', HEAL_DEADLINE_MS, check);
  assert.ok(sawNotReady || wasOverBefore, 'the node was not ready while its old processes took their time to end');
  const endAt = cluster.kernel.elapsedMs + 2 * MINUTE_MS;
  await world.until('a while passes', HEAL_DEADLINE_MS, () => check() && cluster.kernel.elapsedMs > endAt);
}

/** These identify a pod, even if it was created again. */
const marksOf = (pod: Pod): readonly string[] => [
  uidOf(pod),
  `${pod.metadata.namespace}/${pod.metadata.name} on ${pod.spec.nodeName}`,
];

const podsOn = (world: World, node: string): readonly Pod[] =>
  world.allPods().filter(({ spec }) => spec.nodeName === node);

const hasAny = (world: World, past: ReadonlySet<string>): boolean =>
  world.allPods().some((pod) => marksOf(pod).some((mark) => past.has(mark)));
