import assert from 'node:assert/strict';
import { CONFIG_MAPS, type ConfigMap, PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from './compose-cluster.ts';
import { doubleLives, readLives } from './heartbeats.ts';
import { allReady, holds, identitiesOf, isReady } from './workloads.ts';

/** Longer than the grace of the nodes, whose heartbeats cannot be stored meanwhile. */
const CUT_MS = 35_000;
const SETTLE_DEADLINE_MS = 60_000;
/** A write is answered, or refused, within this; it never hangs. */
const WRITE_DEADLINE_MS = 40_000;
const NAMESPACE = 'default';

const clock = createSystemClock();

/** Writes one object after the other and remembers what was acknowledged. */
class Writer implements AsyncDisposable {
  readonly acknowledged: string[] = [];
  slowestMs = 0;
  readonly #admin: ApiClient;
  readonly #name: string;
  #stopped = false;
  readonly #running: Promise<void>;

  constructor(admin: ApiClient, name: string) {
    this.#admin = admin;
    this.#name = name;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    for (let count = 0; !this.#stopped; count++) {
      const name = `${this.#name}-${count}`;
      const startedAt = clock.monotonic();
      // A refusal of any kind is not a promise, only an acknowledgement is.
      await this.#admin.create(CONFIG_MAPS, configMap(name)).then(
        () => this.acknowledged.push(name),
        () => clock.sleep(100),
      );
      this.slowestMs = Math.max(this.slowestMs, clock.monotonic() - startedAt);
    }
  }
}

const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: NAMESPACE },
  data: { written: name },
});

/** The API servers reach no store for longer than the grace of the nodes. */
export async function cutStore(cluster: ComposeCluster): Promise<void> {
  const { admin } = cluster;
  const podsBefore = await podUids(admin);
  await admin.create(CONFIG_MAPS, configMap('stale'));
  const stale = await admin.get(CONFIG_MAPS, { namespace: NAMESPACE, name: 'stale' });
  await admin.update(CONFIG_MAPS, { ...stale, data: { written: 'newer' } });
  await using writer = new Writer(admin, 'cut');
  await waitFor('some writes', () => writer.acknowledged.length > 20);

  await cluster.disconnect('redis', 'control');
  const reached = writer.acknowledged.length + 1;
  await holds(CUT_MS, async () => {
    assert.ok(writer.acknowledged.length <= reached, 'nothing is acknowledged without the store');
  });
  await cluster.connect('redis', 'control');
  await waitFor('writes again', () => writer.acknowledged.length > reached + 20, SETTLE_DEADLINE_MS);
  await writer.stop();

  await assertNothingLost(admin, writer);
  await assert.rejects(
    admin.update(CONFIG_MAPS, { ...stale, data: { written: 'from before the cut' } }),
    (error) => error instanceof StatusError && error.code === 409,
  );
  await waitFor('the nodes to be ready', () => nodesReady(admin), SETTLE_DEADLINE_MS);
  await waitFor('every pod to be ready', () => allReady(admin), SETTLE_DEADLINE_MS);
  assert.deepEqual(await podUids(admin), podsBefore);
}

/** Servers are killed in turn while a client writes. */
export async function killServers(cluster: ComposeCluster): Promise<void> {
  const { admin, sharedFolder } = cluster;
  await using writer = new Writer(admin, 'crash');
  for (const service of ['redis', 'nats', 'apiserver-1', 'controller-manager', 'scheduler']) {
    const reached = writer.acknowledged.length;
    await cluster.crash(service);
    await waitFor(`writes after ${service} died`, () => writer.acknowledged.length > reached + 20, SETTLE_DEADLINE_MS);
  }
  await writer.stop();
  await assertNothingLost(admin, writer);
  for (const { metadata } of (await admin.list(PODS, { namespace: NAMESPACE, labelSelector: 'app=db' })).items) {
    await admin.delete(PODS, { namespace: NAMESPACE, name: metadata.name ?? '' });
  }
  await waitFor('every pod to be ready', () => allReady(admin), SETTLE_DEADLINE_MS);
  assert.deepEqual(doubleLives(identitiesOf(await readLives(sharedFolder))), []);
}

async function assertNothingLost(admin: ApiClient, writer: Writer): Promise<void> {
  const stored = new Set(
    (await admin.list(CONFIG_MAPS, { namespace: NAMESPACE })).items.map((each) => each.metadata.name),
  );
  assert.deepEqual(
    writer.acknowledged.filter((name) => !stored.has(name)),
    [],
  );
  assert.ok(writer.slowestMs < WRITE_DEADLINE_MS, `a write took ${writer.slowestMs} ms to be answered`);
}

async function podUids(admin: ApiClient): Promise<Readonly<Record<string, string | undefined>>> {
  const pods = (await admin.list(PODS, { namespace: NAMESPACE })).items;
  return Object.fromEntries(pods.map(({ metadata }) => [metadata.name ?? '', metadata.uid]));
}

async function nodesReady(admin: ApiClient): Promise<boolean> {
  const ready = await Promise.all(['node-1', 'node-2', 'node-3'].map((name) => isReady(admin, name)));
  return ready.every(Boolean);
}
