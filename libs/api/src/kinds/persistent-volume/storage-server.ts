import { type FieldError, invalid, ownValue, required } from '@holdfast/machinery';
import type { CSIPersistentVolumeSource, PersistentVolume, SecretReference } from '../../generated/types.ts';
import { isSingleNodeMode } from '../../semantics/storage.ts';
import { STORAGE_SERVER_DRIVER } from '../../semantics/well-known.ts';

/** Entry of `volumeAttributes`: host:port of the server. */
export const STORAGE_SERVER_ADDRESS = 'server';
/** Keys of the Secret that `nodePublishSecretRef` names: the key of the volume, and the authority of the server. */
export const STORAGE_SERVER_KEY = 'key';
export const STORAGE_SERVER_CA = 'ca.crt';

/** Where a volume of the storage server is, and the Secret with its key. */
export interface StorageServerVolume {
  readonly volume: string;
  readonly address: string;
  readonly secret: SecretReference;
}

export const isOnStorageServer = ({ spec }: Pick<PersistentVolume, 'spec'>): boolean =>
  spec.csi?.driver === STORAGE_SERVER_DRIVER;

export function storageServerOf(volume: Pick<PersistentVolume, 'spec'>): StorageServerVolume | undefined {
  const { csi } = volume.spec;
  if (csi === undefined || !isOnStorageServer(volume)) return undefined;
  const address = ownValue(csi.volumeAttributes ?? {}, STORAGE_SERVER_ADDRESS) ?? '';
  return { volume: csi.volumeHandle, address, secret: csi.nodePublishSecretRef ?? {} };
}

/** host:port; an IPv6 address is in brackets. */
const ADDRESS = /^(?:\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?):([1-9]\d{0,4})$/;
const PORT_MAX = 65_535;

/**
 * The handle is the name of the object, which only one object has: no second volume can name the same data and count
 * tokens of its own.
 */
export function validateStorageServerVolume(
  out: FieldError[],
  { path, name }: { readonly path: string; readonly name: string },
  csi: Readonly<CSIPersistentVolumeSource>,
): void {
  if (csi.driver !== STORAGE_SERVER_DRIVER) return;
  if (csi.volumeHandle !== name)
    out.push(invalid(`${path}.volumeHandle`, csi.volumeHandle, `must be the name of the PersistentVolume ("${name}")`));
  const address = ownValue(csi.volumeAttributes ?? {}, STORAGE_SERVER_ADDRESS) ?? '';
  const port = Number(ADDRESS.exec(address)?.[1] ?? Number.POSITIVE_INFINITY);
  if (port > PORT_MAX)
    out.push(
      invalid(`${path}.volumeAttributes[${STORAGE_SERVER_ADDRESS}]`, address, 'must be host:port of the server'),
    );
  if (csi.nodePublishSecretRef === undefined)
    out.push(
      required(`${path}.nodePublishSecretRef`, `names the Secret with the "${STORAGE_SERVER_KEY}" of the volume`),
    );
}

export function validateSingleNode(out: FieldError[], path: string, { spec }: Pick<PersistentVolume, 'spec'>): void {
  if (!isOnStorageServer({ spec }) || (spec.accessModes ?? []).every(isSingleNodeMode)) return;
  const why = `must be ReadWriteOnce or ReadWriteOncePod for driver ${STORAGE_SERVER_DRIVER}`;
  out.push(invalid(path, (spec.accessModes ?? []).join(','), why));
}
