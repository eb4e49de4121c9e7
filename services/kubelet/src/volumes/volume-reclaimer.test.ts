import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, LOCAL_PATH_FINALIZER, LOCAL_PATH_PROVISIONER, type PersistentVolume } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { conflict, notFound } from '@holdfast/machinery';
import { createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import fc from 'fast-check';
import { decideReclaim } from '../domain/decide-reclaim.ts';
import { VOLUME_IN_USE_RECHECK_MS } from '../limits.ts';
import { VolumeReclaimer } from './volume-reclaimer.ts';

const UID = '00000000-0000-4000-8000-000000000001';

interface Shape {
  readonly phase: string;
  readonly policy: string;
  readonly going: boolean;
  readonly finalizers: readonly string[];
  readonly driver: string;
  readonly node: string;
}

const DUE: Shape = {
  phase: 'Released',
  policy: 'Delete',
  going: true,
  finalizers: ['example.com/other', LOCAL_PATH_FINALIZER],
  driver: LOCAL_PATH_PROVISIONER,
  node: 'n1',
};

const volumeOf = ({ phase, policy, going, finalizers, driver, node }: Shape): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: {
    name: 'v',
    uid: UID,
    resourceVersion: '7',
    finalizers: [...finalizers],
    ...(going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  spec: {
    csi: { driver, volumeHandle: 'v', volumeAttributes: { node } },
    claimRef: { namespace: 'default', name: 'data' },
    persistentVolumeReclaimPolicy: policy,
  },
  status: { phase },
});

test('with any volume: a directory is removed only on its own node, when its deletion is due and nothing uses it', () => {
  const any = fc.record({
    phase: fc.constantFrom('Available', 'Bound', 'Released', 'Failed'),
    policy: fc.constantFrom('Delete', 'Retain'),
    going: fc.boolean(),
    finalizers: fc.subarray(['example.com/other', LOCAL_PATH_FINALIZER]),
    driver: fc.constantFrom(LOCAL_PATH_PROVISIONER, 'csi.example.com'),
    node: fc.constantFrom('n1', 'n2', ''),
  });
  fc.assert(
    fc.property(any, fc.boolean(), (shape, isInUse) => {
      const decision = decideReclaim(volumeOf(shape), { nodeName: 'n1', isInUse });
      const isDue =
        shape.going &&
        shape.finalizers.includes(LOCAL_PATH_FINALIZER) &&
        shape.policy === 'Delete' &&
        shape.phase !== 'Bound' &&
        shape.driver === LOCAL_PATH_PROVISIONER &&
        shape.node === 'n1';
      assert.equal(decision, isDue ? (isInUse ? 'wait' : 'remove') : 'nothing');
    }),
  );
});

const RUNNING = new AbortController().signal;

interface Scene {
  readonly reclaimer: VolumeReclaimer;
  readonly done: readonly string[];
}

interface SceneOptions {
  readonly inUse?: boolean;
  readonly refusal?: Error;
  /** How the directory is removed. Default: at once. */
  readonly removal?: (signal: AbortSignal | undefined) => Promise<void>;
}

/** `stored`: what the API has now. */
function createScene(stored: PersistentVolume | undefined, options: SceneOptions = {}): Scene {
  const done: string[] = [];
  const refuse = (): never => assert.fail('not asked for in this test');
  const client: ApiClient = {
    get: refuse,
    create: refuse,
    patch: refuse,
    list: refuse,
    watch: refuse,
    updateStatus: refuse,
    updateSubresource: refuse,
    delete: refuse,
    resourcesOf: refuse,
    bind: refuse,
    evict: refuse,
    find: <T extends KubeObject>() => Promise.resolve(stored as T | undefined),
    update: <T extends KubeObject>(_resource: unknown, object: T): Promise<T> => {
      const { finalizers = [], resourceVersion } = object.metadata;
      done.push(`update ${resourceVersion} ${finalizers.join(',')}`);
      return options.refusal === undefined ? Promise.resolve(object) : Promise.reject(options.refusal);
    },
  };
  const reclaimer = new VolumeReclaimer({
    client,
    clock: createSystemClock(),
    random: createSystemRandom(),
    log: createSilentLog(),
    nodeName: 'n1',
    directories: {
      make: refuse,
      removeAll: refuse,
      remove: async (uid, signal) => {
        await options.removal?.(signal);
        done.push(`remove ${uid}`);
      },
    },
    mayUse: ({ uid, namespace, claim }) => {
      assert.deepEqual([uid, namespace, claim], [UID, 'default', 'data']);
      return options.inUse === true;
    },
  });
  return { reclaimer, done };
}

test('the directory is removed first, then the finalizer at the revision that was read', async () => {
  const { reclaimer, done } = createScene(volumeOf(DUE));
  assert.deepEqual(await reclaimer.reconcile('v', RUNNING), {});
  assert.deepEqual(done, [`remove ${UID}`, 'update 7 example.com/other']);
});

test('while a pod may use the volume nothing is removed, and the node retries', async () => {
  const { reclaimer, done } = createScene(volumeOf(DUE), { inUse: true });
  assert.deepEqual(await reclaimer.reconcile('v', RUNNING), { requeueAfterMs: VOLUME_IN_USE_RECHECK_MS });
  assert.deepEqual(done, []);
});

test('a kept or deleted volume loses nothing, whatever the watch showed', async () => {
  for (const stored of [undefined, volumeOf({ ...DUE, policy: 'Retain' }), volumeOf({ ...DUE, going: false })]) {
    const { reclaimer, done } = createScene(stored);
    assert.deepEqual(await reclaimer.reconcile('v', RUNNING), {});
    assert.deepEqual(done, []);
  }
});

test('a volume deleted meanwhile needs no more work, and a changed one is read again', async () => {
  const subject = { group: '', resource: 'persistentvolumes', name: 'v' };
  const gone = createScene(volumeOf(DUE), { refusal: notFound(subject) });
  assert.deepEqual(await gone.reclaimer.reconcile('v', RUNNING), {});
  const changed = createScene(volumeOf(DUE), { refusal: conflict(subject, 'changed') });
  await assert.rejects(changed.reclaimer.reconcile('v', RUNNING));
});

test('a stop ends a long removal, and the finalizer stays for the next pass', async () => {
  const stopping = new AbortController();
  const untilAborted = (signal: AbortSignal | undefined) =>
    new Promise<void>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('aborted')));
      stopping.abort();
      if (signal === undefined) reject(new Error('a removal that nothing can end'));
    });
  const { reclaimer, done } = createScene(volumeOf(DUE), { removal: untilAborted });
  await assert.rejects(reclaimer.reconcile('v', stopping.signal), /^Error: aborted$/);
  assert.deepEqual(done, []);
});
