import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, type PersistentVolume, type Pod, storageServerOf } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { volumeKey, volumeProof } from '@holdfast/client/storage-server';
import { VolumeError } from '../domain/volume-files.ts';
import { ticketFiles } from './volume-ticket.ts';

const KEY = volumeKey('a master key of the storage server', 'data');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const VOLUME: PersistentVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'data' },
  spec: {
    csi: {
      driver: 'storage.holdfast.io',
      volumeHandle: 'data',
      volumeAttributes: { server: 'storage.example:9440' },
      nodePublishSecretRef: { namespace: 'storage', name: 'data-key' },
    },
  },
  status: {
    fencingToken: 41,
    attachment: { nodeName: 'n1', nodeUID: 'uid-n1', pods: [{ namespace: 'n', name: 'db-0', uid: 'u' }] },
  },
};
const POD: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db-0', namespace: 'n', uid: 'u' },
  spec: { containers: [] },
  status: {},
};

interface Given {
  readonly secret?: Readonly<Record<string, string>> | undefined;
  readonly status?: PersistentVolume['status'];
  readonly node?: string;
}

async function filesOf({ secret = { key: KEY }, status = VOLUME.status, node = 'n1' }: Given = {}) {
  const data = Object.fromEntries(Object.entries(secret).map(([name, text]) => [name, base64(text)]));
  const find = async <T extends KubeObject>(_resource: unknown, target: { namespace?: string; name: string }) => {
    assert.deepEqual(target, { namespace: 'storage', name: 'data-key' });
    return (Object.keys(secret).length === 0 ? undefined : { data }) as unknown as T | undefined;
  };
  const volume = { ...VOLUME, status };
  const server = storageServerOf(volume) ?? assert.fail();
  const deps = { client: { find } as unknown as ApiClient, node: () => ({ name: node, labels: {} }) };
  const files = await ticketFiles(deps, POD, { volume, server });
  return Object.fromEntries([...files].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString()]));
}

test('[RWO-12] a pod gets the token of its attachment with a proof, and never the key of the volume', async () => {
  const files = await filesOf({ secret: { key: `${KEY}\n`, 'ca.crt': 'PEM' } });
  assert.deepEqual(files, {
    server: 'storage.example:9440\n',
    volume: 'data\n',
    token: '41\n',
    'ca.crt': 'PEM\n',
    proof: `${volumeProof(KEY, 'data', 41)}\n`,
  });
  assert.ok(!Object.values(files).join('').includes(KEY));
  assert.ok(!('ca.crt' in (await filesOf())));
});

const attachment = VOLUME.status.attachment ?? assert.fail();
for (const [title, given] of [
  ['another node', { node: 'n2' }],
  ['another pod', { status: { fencingToken: 41, attachment: { ...attachment, pods: [] } } }],
  ['no node', { status: { fencingToken: 41 } }],
] satisfies readonly (readonly [string, Given])[])
  test(`[RWO-12] a volume attached for ${title} gives no ticket, although it has a token`, async () => {
    await assert.rejects(filesOf(given), /is not attached to this node for this pod/);
  });

test('[RWO-12] an attachment without a token gives no ticket', async () => {
  await assert.rejects(filesOf({ status: { attachment } }), VolumeError);
});

test('a missing Secret, or one without a key of the volume, keeps the pod waiting and reports the next step', async () => {
  await assert.rejects(filesOf({ secret: {} }), /secret "storage\/data-key" with the key of the volume not found/);
  await assert.rejects(filesOf({ secret: { key: 'master' } }), /no entry "key" with the key that volume-key-main.ts/);
  await assert.rejects(filesOf({ secret: { other: KEY } }), VolumeError);
});
