import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type KubeObject,
  LEASES,
  type Lease,
  NODE_INCARNATION,
  NODES,
  type Node,
  OTHER_INCARNATION,
  promiseOf,
  SELF_FENCING,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { applyMergePatch, conflict, type Json, MODIFIED_CONCURRENTLY, StatusError } from '@holdfast/machinery';
import { type Clock, createSilentLog, type Timer } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { newNode } from '../domain/node-status.ts';
import { LEASE_DURATION_SECONDS, LEASE_RENEW_MS, NODE_RETRY_MS, NODE_STATUS_TRIES } from '../limits.ts';
import { nextLease } from '../self-fencing/promised-lease.ts';
import { hollowNodeFacts } from './hollow-facts.ts';
import { NodeAgent, type NodeAgentDeps } from './node-agent.ts';

const facts = hollowNodeFacts({ name: 'n1', address: '192.0.2.1' });
const START_MS = 1_767_225_600_000;

/** What a client answers. */
const given = <T extends KubeObject>(object: KubeObject | undefined): Promise<T> => Promise.resolve(object as T);

const patched = (node: Node, patch: Json): Node => applyMergePatch(node as object as Json, patch) as object as Node;

interface Given extends Partial<Omit<NodeAgentDeps, 'client'>> {
  readonly client: Partial<ApiClient>;
  readonly clock: Clock;
}

/** Creates the agent of a healthy node; a test replaces what it needs. */
const createAgent = ({ client, ...others }: Given): NodeAgent =>
  new NodeAgent({
    client: client as ApiClient,
    log: createSilentLog(),
    facts,
    runtimeVersion: () => Promise.resolve('hollow'),
    images: () => Promise.resolve(undefined),
    notReady: () => undefined,
    onVanished: () => Promise.resolve(),
    ...others,
  });

/** A node that others write as well: `lost` reports of the kubelet meet a newer revision first. */
async function beatAgainst(lost: number): Promise<{ asked: readonly string[]; waitsMs: number | undefined }> {
  const asked: string[] = [];
  let waitsMs: number | undefined;
  let arm: () => void = () => {};
  const armed = new Promise<void>((resolve) => {
    arm = resolve;
  });
  const node: Node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const client: Partial<ApiClient> = {
    find: (resource) => {
      asked.push(`get ${resource.plural}`);
      return given(resource.plural === NODES.plural ? node : undefined);
    },
    patch: (_, target) => {
      asked.push('report');
      const isLate = asked.filter((what) => what === 'report').length <= lost;
      return isLate
        ? Promise.reject(conflict({ group: '', resource: 'nodes', name: target.name }, MODIFIED_CONCURRENTLY))
        : given(node);
    },
    create: (_, object) => {
      asked.push('lease');
      return given(object);
    },
  };
  const timer = (delayMs: number): Timer => {
    waitsMs = delayMs;
    arm();
    return { cancel: () => {} };
  };
  const clock: Clock = { now: () => START_MS, monotonic: () => 0, timer, sleep: () => Promise.resolve() };
  const agent = createAgent({
    client,
    clock,
  });
  agent.start();
  await armed;
  await agent.stop();
  return { asked, waitsMs };
}

test('a node reports not ready before its first heartbeat, and when the API accepts none any more', async () => {
  const node: Node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const link = { cut: false };
  const client: Partial<ApiClient> = {
    find: (resource) =>
      link.cut ? Promise.reject(new Error('cut off')) : given(resource.plural === NODES.plural ? node : undefined),
    patch: () => given(node),
    create: (_, object) => given(object),
    update: (_, object) => given(object),
  };
  const clock = createVirtualClock();
  let fault: { readonly kind: 'fault'; readonly reason: string } | undefined;
  const agent = createAgent({
    client,
    clock,
    notReady: () => fault,
  });
  assert.deepEqual(agent.problems(), ['the API has accepted no heartbeat yet']);
  agent.start();
  await clock.advance(1);
  assert.deepEqual(agent.problems(), []);
  fault = { kind: 'fault', reason: 'the runtime is down' };
  assert.deepEqual(agent.problems(), ['the node is not ready: the runtime is down']);
  fault = undefined;
  link.cut = true;
  await clock.advance(3 * LEASE_RENEW_MS);
  assert.match(agent.problems().join(), /no heartbeat for \d+ s/);
  link.cut = false;
  await clock.advance(LEASE_RENEW_MS);
  assert.deepEqual(agent.problems(), []);
  await agent.stop();
});

test('the address of the machine is read before each report', async () => {
  const addresses: unknown[] = [];
  let address = '192.0.2.1';
  const node: Node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const client: Partial<ApiClient> = {
    find: (resource) => given(resource.plural === NODES.plural ? node : undefined),
    patch: (_, _target, { body }) => {
      addresses.push((body as Partial<Node>).status?.addresses?.[0]?.address);
      return given(node);
    },
    create: (_, object) => given(object),
  };
  const clock = createVirtualClock();
  const agent = createAgent({
    client,
    clock,
    address: () => address,
  });
  agent.start();
  await clock.advance(1_000);
  address = '198.51.100.7';
  await clock.advance(LEASE_RENEW_MS);
  await agent.stop();
  assert.deepEqual([addresses[0], addresses.at(-1)], ['192.0.2.1', '198.51.100.7']);
});

test('an advertised resource becomes allocatable with the next heartbeat, and is removed when it is no longer advertised', async () => {
  let node: Node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const client: Partial<ApiClient> = {
    find: (resource) => given(resource.plural === NODES.plural ? node : undefined),
    patch: (_, _target, { body }) => {
      node = patched(node, body as Json);
      return given(node);
    },
    create: (_, object) => given(object),
  };
  const clock = createVirtualClock();
  const agent = createAgent({ client, clock });
  agent.start();
  await clock.advance(1_000);
  const dongles = () => node.status?.allocatable?.['example.com/dongle'];
  assert.equal(dongles(), undefined);
  node = patched(node, { status: { capacity: { 'example.com/dongle': '4' } } });
  await clock.advance(LEASE_RENEW_MS);
  assert.equal(dongles(), '4');
  node = patched(node, { status: { capacity: { 'example.com/dongle': null } } });
  await clock.advance(LEASE_RENEW_MS);
  assert.equal(dongles(), undefined);
  await agent.stop();
});

test('a report that lost against another writer of the node is retried at once, from the stored object', async () => {
  const { asked, waitsMs } = await beatAgainst(1);
  assert.deepEqual(asked, ['get nodes', 'report', 'get nodes', 'report', 'get leases', 'lease']);
  assert.equal(waitsMs, LEASE_RENEW_MS);
});

test('a report that always loses is retried later, and the lease meanwhile shows that the kubelet lives', async () => {
  const { asked, waitsMs } = await beatAgainst(Number.POSITIVE_INFINITY);
  assert.equal(asked.filter((what) => what === 'report').length, NODE_STATUS_TRIES);
  assert.equal(asked.at(-1), 'lease');
  assert.equal(waitsMs, NODE_RETRY_MS);
});

test('a node without self-fencing renews its lease without the promise of an earlier kubelet, and without its annotation', async () => {
  const node: Node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const words = { policy: 'exclusive', holder: 'machine/boot', renewTime: '2026-01-01T00:00:00.000000Z' } as const;
  let lease: Lease = nextLease(undefined, node, words);
  lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: '7', managedFields: [{ manager: 'kubelet' }] } };
  assert.equal(promiseOf(lease)?.policy, 'exclusive');
  const client: Partial<ApiClient> = {
    find: (resource) => given(resource.plural === LEASES.plural ? lease : node),
    patch: () => given(node),
    update: (_, object) => {
      lease = object as unknown as Lease;
      return given(object);
    },
  };
  const clock = createVirtualClock();
  const agent = createAgent({
    client,
    clock,
  });
  agent.start();
  await clock.advance(1_000);
  await agent.stop();
  assert.equal(promiseOf(lease), undefined);
  assert.deepEqual(lease.metadata.annotations, {});
  assert.equal(lease.metadata.resourceVersion, '7', 'it replaces exactly this revision');
  assert.equal(lease.metadata.managedFields, undefined, 'the server keeps its own; nobody sends them back');
  assert.equal(lease.spec?.leaseDurationSeconds, LEASE_DURATION_SECONDS);
});

test('[FENCE-06] the label of a node says that its promise is in force, and is removed with it', async () => {
  const node: Node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const client: Partial<ApiClient> = {
    find: (resource) => given(resource.plural === LEASES.plural ? undefined : node),
    patch: (_, _target, { body, type }) => {
      assert.equal(type, 'merge');
      const { labels = {} } = (body as Partial<Node>).metadata ?? {};
      const merged = Object.entries({ ...node.metadata.labels, ...labels }).filter(([, value]) => value !== null);
      node.metadata.labels = Object.fromEntries(merged);
      return given(node);
    },
  };
  const clock = createVirtualClock();
  let isPromising = true;
  const agent = createAgent({
    client,
    clock,
    promise: { policy: 'exclusive', begin: () => undefined, isPromising: () => isPromising },
  });
  agent.start();
  await clock.advance(1_000);
  assert.equal(node.metadata.labels?.[SELF_FENCING], 'exclusive');
  isPromising = false;
  await clock.advance(LEASE_RENEW_MS);
  await agent.stop();
  assert.ok(!(SELF_FENCING in (node.metadata.labels ?? {})));
});

interface Boundness {
  readonly incarnation: string;
  /** The file on disk when the kubelet starts. */
  readonly kept?: string;
  /** The incarnation of the Node in the API. */
  readonly nodeOf: string | undefined;
}

const REFUSED = new StatusError({
  code: 403,
  reason: 'Forbidden',
  message: 'bound to another incarnation',
  details: { causes: [{ reason: OTHER_INCARNATION, message: 'another machine' }] },
});

/** A starting kubelet; the API accepts writes only from the incarnation of the Node. */
async function startedAs({
  incarnation,
  kept,
  nodeOf,
}: Boundness): Promise<{ ended: number; kept: string | undefined }> {
  let ended = 0;
  let onDisk = kept;
  const own = { ...facts, incarnation };
  const made = newNode({ facts: own, runtimeVersion: 'hollow', notReady: undefined, now: START_MS });
  const node = { ...made, metadata: { ...made.metadata, annotations: { [NODE_INCARNATION]: nodeOf ?? '' } } };
  const client: Partial<ApiClient> = {
    find: (resource) => given(resource.plural === NODES.plural && nodeOf !== undefined ? node : undefined),
    patch: () => (nodeOf === undefined || nodeOf === incarnation ? given(node) : Promise.reject(REFUSED)),
    create: (_, object) => given(object),
  };
  const clock = createVirtualClock();
  const agent = createAgent({
    client,
    clock,
    facts: own,
    onDisplaced: () => ended++,
    bound: {
      read: () => onDisk,
      write: (text) => {
        onDisk = text;
      },
    },
  });
  agent.start();
  await clock.advance(3 * NODE_RETRY_MS);
  await agent.stop();
  return { ended, kept: onDisk };
}

test('[SAFE-31] a restarted kubelet that was displaced meanwhile ends the pods of the kubelet before it, once', async () => {
  const found = await startedAs({ incarnation: 'k/m/b-1', kept: 'k/m/b-1', nodeOf: 'x/y/z' });
  assert.equal(found.ended, 1);
});

test('[SAFE-31] a rebooted machine, a clone and an unbound machine end nothing when they are refused', async () => {
  for (const [incarnation, kept] of [
    ['k/m/b-2', 'k/m/b-1'],
    ['k/m-2/b-1', 'k/m/b-1'],
    ['k/m/b-1', undefined],
  ] as const) {
    const found = await startedAs({ incarnation, nodeOf: 'x/y/z', ...(kept === undefined ? {} : { kept }) });
    assert.deepEqual(found, { ended: 0, kept });
  }
});

test('[SAFE-31] a binding by a claim or by registration is recorded on disk', async () => {
  for (const nodeOf of ['k/m/b-2', undefined]) {
    const { kept } = await startedAs({ incarnation: 'k/m/b-2', kept: 'k/m/b-1', nodeOf });
    assert.equal(kept, 'k/m/b-2');
  }
});
