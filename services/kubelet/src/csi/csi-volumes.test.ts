import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CSIDriver, Pod, TokenRequest } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { formatTime } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { unlessRoot } from '@holdfast/testing';
import { type CsiRequest, requestOfInline, takesGroup } from '../domain/csi-request.ts';
import { createPodDirectories } from '../runtime/pod-directories.ts';
import { CsiVolumes } from './csi-volumes.ts';
import { TOKENS_KEY } from './driver-tokens.ts';
import type { NodeDriver, PublishRequest, StageRequest } from './port.ts';

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'web', uid: 'u1' },
  spec: { containers: [] },
  status: {},
} as unknown as Pod;

/** A driver that makes directories, and says what it was asked. */
function createScene(t: TestContext, spec: CSIDriver['spec'] = {}) {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-csi-volumes-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const clock = createVirtualClock();
  const calls: string[] = [];
  const contexts: Readonly<Record<string, string>>[] = [];
  const driver = {
    name: 'disk',
    can: { stages: false, expands: false, reportsUsage: false, knowsSingleWriter: false, setsGroup: false },
    stage: async ({ context }: StageRequest) => void contexts.push(context),
    unstage: async () => {},
    publish: async ({ volumeId, targetPath, context }: PublishRequest) => {
      calls.push(`publish ${volumeId}`);
      contexts.push(context);
      mkdirSync(targetPath, { recursive: true });
    },
    unpublish: async ({ volumeId, targetPath }: { volumeId: string; targetPath: string }) => {
      calls.push(`unpublish ${volumeId}`);
      rmSync(targetPath, { recursive: true });
    },
  } as unknown as NodeDriver;
  const info = { spec: { attachRequired: false, volumeLifecycleModes: ['Persistent', 'Ephemeral'], ...spec } };
  let tokens = 0;
  const client = {
    find: async () => info,
    create: async (_resource: object, { spec: wanted }: { spec: TokenRequest['spec'] }) => ({
      status: {
        token: `token-${++tokens} for ${wanted.audiences.join()}`,
        expirationTimestamp: formatTime(clock.now() + (wanted.expirationSeconds ?? 0) * 1_000),
      },
    }),
  } as unknown as ApiClient;
  const volumes = new CsiVolumes({ client, clock, nodeName: 'n1', root, driver: () => driver });
  const folder = (name: string): string => join(root, 'pods', 'u1', 'volumes', 'kubernetes.io~csi', name);
  return { root, clock, calls, contexts, driver, volumes, folder };
}

test('two volumes of a pod with one name are not mounted over each other', async (t) => {
  const { calls, volumes } = createScene(t);
  const inline = requestOfInline(pod, 'pvc-1', { driver: 'disk' });
  const source = { driver: 'disk', volumeHandle: 'handle-1' };
  const claimed: CsiRequest = { ...inline, volumeId: 'handle-1', source };
  await volumes.publish(pod, claimed);
  await volumes.publish(pod, claimed);
  await assert.rejects(volumes.publish(pod, inline), /another volume of the pod has the name "pvc-1"/);
  await volumes.tearDown('u1');
  assert.deepEqual(calls, ['publish handle-1', 'unpublish handle-1']);
});

test('directories that a kubelet left without a record are removed with the pod', async (t) => {
  const { root, volumes, folder } = createScene(t);
  // It ended after the record was removed, and while it wrote the next.
  mkdirSync(folder('removed'), { recursive: true });
  mkdirSync(join(folder('cut-off'), 'mount'), { recursive: true });
  writeFileSync(join(folder('cut-off'), 'vol_data.json'), '');
  writeFileSync(join(folder('cut-off'), 'vol_data.json.new'), '{');
  const directories = createPodDirectories(root);
  assert.throws(() => directories.remove('u1'), /not unmounted/);
  assert.equal(volumes.holds('u1'), true);
  await volumes.tearDown('u1');
  assert.deepEqual([volumes.holds('u1'), volumes.pods()], [false, []]);
  directories.remove('u1');
  assert.equal(existsSync(join(root, 'pods', 'u1')), false);
});

test('a directory without a record in which something is, and a record that cannot be read, keep the pod', async (t) => {
  const { volumes, folder } = createScene(t);
  mkdirSync(join(folder('full'), 'mount', 'data'), { recursive: true });
  await assert.rejects(volumes.tearDown('u1'), /ENOTEMPTY/);
  assert.ok(existsSync(join(folder('full'), 'mount', 'data')));
  rmSync(folder('full'), { recursive: true });
  // Reading a directory fails as a broken disk does.
  mkdirSync(join(folder('broken'), 'vol_data.json'), { recursive: true });
  await assert.rejects(volumes.tearDown('u1'), /EISDIR/);
  assert.equal(volumes.holds('u1'), true);
});

test('the files of a volume are given to the group of the pod as the CSIDriver and the volume say', () => {
  const source = { driver: 'disk', volumeHandle: 'handle-1' };
  const claimed: CsiRequest = { ...requestOfInline(pod, 'pvc-1', source), fsType: 'ext4', source };
  const driver = (fsGroupPolicy: string): CSIDriver => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'disk' },
    spec: { fsGroupPolicy },
  });
  const shared = { ...claimed, accessModes: ['ReadWriteMany'] };
  for (const [request, info, expected] of [
    [claimed, undefined, true],
    [claimed, driver('ReadWriteOnceWithFSType'), true],
    [{ ...claimed, fsType: undefined }, undefined, false],
    [{ ...claimed, source: undefined }, undefined, false],
    [shared, undefined, false],
    [shared, driver('File'), true],
    [claimed, driver('None'), false],
    [{ ...claimed, readOnly: true }, driver('File'), false],
  ] as const)
    assert.equal(takesGroup(request, info), expected);
});

test('a published volume belongs to the group of the pod, once', { skip: unlessRoot() }, async (t) => {
  const { volumes, folder } = createScene(t, { fsGroupPolicy: 'File' });
  const request = requestOfInline(pod, 'data', { driver: 'disk' });
  const group = { asked: 2_000, gid: 2_000, policy: undefined };
  const path = await volumes.publish(pod, request, group);
  assert.equal(path, join(folder('data'), 'mount'));
  assert.equal(statSync(path).gid, 2_000);
  chownSync(path, 0, 0);
  await volumes.publish(pod, request, group);
  assert.equal(statSync(path).gid, 0, 'what the pod makes of it later stays');
});

test('a driver gets the tokens that it asks for with each publish, new ones before they end, and none with a stage', async (t) => {
  const tokenRequests = [{ audience: 'vault', expirationSeconds: 1_000 }, { audience: '' }];
  const scene = createScene(t, { tokenRequests, requiresRepublish: true });
  const { clock, contexts, driver, volumes } = scene;
  Object.assign(driver.can, { stages: true });
  const source = { driver: 'disk', volumeHandle: 'handle-1' };
  const request: CsiRequest = { ...requestOfInline(pod, 'pvc-1', { driver: 'disk' }), volumeId: 'handle-1', source };
  const given = async (): Promise<unknown> => {
    await volumes.publish(pod, request);
    return JSON.parse(contexts.at(-1)?.[TOKENS_KEY] ?? '{}');
  };
  const first = {
    vault: { token: 'token-1 for vault', expirationTimestamp: formatTime(clock.now() + 1_000_000) },
    '': { token: 'token-2 for ', expirationTimestamp: formatTime(clock.now() + 3_600_000) },
  };
  assert.deepEqual(await given(), first);
  assert.deepEqual(contexts[0], {}, 'a stage is not of one pod');
  assert.deepEqual(await given(), first);
  await clock.advance(800_000);
  const later = { token: 'token-3 for vault', expirationTimestamp: formatTime(clock.now() + 1_000_000) };
  assert.deepEqual(await given(), { ...first, vault: later });
  await volumes.tearDown('u1');
});
