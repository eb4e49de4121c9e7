import {
  isAttachedForPod,
  type PersistentVolume,
  type Pod,
  type SelectableNode,
  STORAGE_SERVER_CA,
  STORAGE_SERVER_KEY,
  type StorageServerVolume,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { volumeProof } from '@holdfast/client/storage-server';
import { ownValue } from '@holdfast/machinery';
import { VolumeError, type VolumeFile } from '../domain/volume-files.ts';
import { readBytes } from './referenced-data.ts';

export interface TicketDeps {
  readonly client: ApiClient;
  readonly node: () => SelectableNode;
}

const MODE = 0o644;
/** As the storage server prints it. */
const VOLUME_KEY = /^[0-9a-f]{64}$/;

/**
 * The files with which a pod opens its volume of the storage server. `volume` is a current read: its token belongs to
 * the attachment that names this node and this pod. The key of the volume stays with the kubelet.
 */
export async function ticketFiles(
  { client, node }: TicketDeps,
  pod: Pod,
  { volume, server }: { readonly volume: PersistentVolume; readonly server: StorageServerVolume },
): Promise<ReadonlyMap<string, VolumeFile>> {
  const { fencingToken } = volume.status;
  if (!isAttachedForPod(volume, node().name, pod.metadata.uid ?? '') || fencingToken === undefined)
    throw new VolumeError(`persistentvolume "${server.volume}" is not attached to this node for this pod`);
  const { key, ca } = await readSecret(client, server);
  const texts = {
    server: server.address,
    volume: server.volume,
    token: String(fencingToken),
    ...(ca === undefined ? {} : { [STORAGE_SERVER_CA]: ca }),
  };
  const proof = volumeProof(key, server.volume, fencingToken);
  return new Map<string, VolumeFile>([
    ...Object.entries(texts).map(([name, text]) => [name, { bytes: Buffer.from(`${text}\n`), mode: MODE }] as const),
    ['proof', { bytes: Buffer.from(`${proof}\n`), mode: MODE, isToken: true }],
  ]);
}

async function readSecret(
  client: ApiClient,
  { secret: { namespace = '', name = '' } }: StorageServerVolume,
): Promise<{ readonly key: string; readonly ca: string | undefined }> {
  const found = await readBytes(client, namespace, `Secret/${name}`);
  if (found === undefined) throw new VolumeError(`secret "${namespace}/${name}" with the key of the volume not found`);
  const textOf = (entry: string): string | undefined => {
    const bytes = ownValue(found, entry);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString().trim();
  };
  const key = textOf(STORAGE_SERVER_KEY) ?? '';
  if (!VOLUME_KEY.test(key))
    throw new VolumeError(
      `secret "${namespace}/${name}" has no entry "${STORAGE_SERVER_KEY}" with the key that volume-key-main.ts prints`,
    );
  return { key, ca: textOf(STORAGE_SERVER_CA) };
}
