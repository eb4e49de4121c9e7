import type { Container, CSIVolumeSource, DownwardAPIVolumeFile, KeyToPath, Pod, Volume } from '@holdfast/api';
import { ownValue, parseQuantity, value } from '@holdfast/machinery';
import { type EnvironmentSources, podField, resourceField } from './environment.ts';

/** A volume cannot be made, or not yet. The pod waits. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
}

export type VolumeSource =
  | { readonly kind: 'emptyDir'; readonly inMemory: boolean; readonly sizeLimit: string | undefined }
  | { readonly kind: 'hostPath'; readonly path: string; readonly type: string }
  /** `ofPod`: it was made for this pod and ends with it. */
  | { readonly kind: 'claim'; readonly name: string; readonly readOnly: boolean; readonly ofPod: boolean }
  /** An inline volume of a CSI driver: it ends with its pod. */
  | { readonly kind: 'csi'; readonly source: CSIVolumeSource }
  /** A share of an NFS server: the node mounts it for the pod. */
  | { readonly kind: 'nfs'; readonly source: NonNullable<Volume['nfs']> }
  | { readonly kind: 'files'; readonly parts: readonly FilePart[]; readonly defaultMode: number }
  | { readonly kind: 'unsupported'; readonly type: string };

/** One source of files; a projected volume has several. */
export type FilePart =
  | {
      readonly kind: 'keys';
      readonly of: 'ConfigMap' | 'Secret';
      readonly name: string;
      readonly items: readonly KeyToPath[] | undefined;
      readonly optional: boolean;
    }
  | { readonly kind: 'downward'; readonly items: readonly DownwardAPIVolumeFile[] }
  | { readonly kind: 'token'; readonly path: string; readonly audience: string | undefined; readonly seconds: number }
  | { readonly kind: 'unsupported'; readonly type: string };

export interface VolumeFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
  /** Only who the pod runs as should read it. */
  readonly isToken?: true;
}

export interface FileInputs extends Omit<EnvironmentSources, 'data'> {
  /** By `ConfigMap/name` and `Secret/name`, then by key. */
  readonly data: ReadonlyMap<string, Readonly<Record<string, Uint8Array>>>;
  readonly token: (part: Extract<FilePart, { kind: 'token' }>) => string;
}

const DEFAULT_MODE = 0o644;
const TOKEN_SECONDS = 3_600;

export function readVolume(volume: Volume, pod: Pod): VolumeSource {
  const { configMap, secret, downwardAPI, projected, hostPath, persistentVolumeClaim: claim, ephemeral } = volume;
  const files = (defaultMode: number | undefined, parts: readonly FilePart[]): VolumeSource => ({
    kind: 'files',
    parts,
    defaultMode: defaultMode ?? DEFAULT_MODE,
  });
  if (volume.emptyDir !== undefined) {
    const { medium, sizeLimit } = volume.emptyDir;
    return { kind: 'emptyDir', inMemory: medium === 'Memory', sizeLimit };
  }
  if (hostPath !== undefined) return { kind: 'hostPath', path: hostPath.path, type: hostPath.type ?? '' };
  if (claim !== undefined)
    return { kind: 'claim', name: claim.claimName, readOnly: claim.readOnly === true, ofPod: false };
  if (ephemeral !== undefined) {
    return { kind: 'claim', name: `${pod.metadata.name ?? ''}-${volume.name}`, readOnly: false, ofPod: true };
  }
  if (configMap !== undefined) return files(configMap.defaultMode, [keysOf('ConfigMap', configMap)]);
  if (secret !== undefined)
    return files(secret.defaultMode, [keysOf('Secret', { ...secret, name: secret.secretName ?? '' })]);
  if (downwardAPI !== undefined)
    return files(downwardAPI.defaultMode, [{ kind: 'downward', items: downwardAPI.items ?? [] }]);
  if (projected !== undefined) return files(projected.defaultMode, (projected.sources ?? []).map(readPart));
  if (volume.nfs !== undefined) return { kind: 'nfs', source: volume.nfs };
  if (volume.csi !== undefined) return { kind: 'csi', source: volume.csi };
  return { kind: 'unsupported', type: Object.keys(volume).find((field) => field !== 'name') ?? 'unknown' };
}

/** Returns the capacity of a memory volume: never more than the node's memory. */
export function memoryBytes(sizeLimit: string | undefined, nodeMemory = '0'): number {
  const node = value(parseQuantity(nodeMemory));
  const asked = sizeLimit === undefined ? 0 : value(parseQuantity(sizeLimit));
  if (asked === 0) return node;
  return node === 0 ? asked : Math.min(asked, node);
}

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];

function readPart(source: Projection): FilePart {
  const { configMap, secret, downwardAPI, serviceAccountToken: token } = source;
  if (configMap !== undefined) return keysOf('ConfigMap', configMap);
  if (secret !== undefined) return keysOf('Secret', secret);
  if (downwardAPI !== undefined) return { kind: 'downward', items: downwardAPI.items ?? [] };
  if (token !== undefined) {
    const { path, audience, expirationSeconds: seconds = TOKEN_SECONDS } = token;
    return { kind: 'token', path, audience, seconds };
  }
  return { kind: 'unsupported', type: Object.keys(source)[0] ?? 'unknown' };
}

function keysOf(
  of: 'ConfigMap' | 'Secret',
  { name = '', items, optional = false }: { name?: string; items?: readonly KeyToPath[]; optional?: boolean },
): FilePart {
  return { kind: 'keys', of, name, items, optional };
}

/** `ConfigMap/name` and `Secret/name` of everything the volume is made of. */
export function volumeReferences(source: VolumeSource): readonly string[] {
  return source.kind === 'files'
    ? source.parts.flatMap((part) => (part.kind === 'keys' ? [`${part.of}/${part.name}`] : []))
    : [];
}

/** Every file of the volume by its path in it; a later part wins. */
export function buildFiles(
  source: Extract<VolumeSource, { kind: 'files' }>,
  inputs: FileInputs,
): ReadonlyMap<string, VolumeFile> {
  const files = new Map<string, VolumeFile>();
  for (const part of source.parts) {
    for (const { path, bytes, mode } of filesOf(part, inputs)) {
      const isToken = part.kind === 'token' ? ({ isToken: true } as const) : {};
      files.set(path, { bytes, mode: mode ?? source.defaultMode, ...isToken });
    }
  }
  return files;
}

interface MadeFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode?: number | undefined;
}

function filesOf(part: FilePart, inputs: FileInputs): readonly MadeFile[] {
  switch (part.kind) {
    case 'keys':
      return keyFiles(part, inputs);
    case 'downward':
      return part.items.map(({ path, mode, ...item }) => ({ path, mode, bytes: Buffer.from(downward(item, inputs)) }));
    case 'token':
      return [{ path: part.path, bytes: Buffer.from(inputs.token(part)) }];
    case 'unsupported':
      throw new VolumeError(`this node has no support for ${part.type} in projected volumes`);
  }
}

function keyFiles(part: Extract<FilePart, { kind: 'keys' }>, { data, pod }: FileInputs): readonly MadeFile[] {
  const found = data.get(`${part.of}/${part.name}`);
  if (found === undefined) {
    if (part.optional) return [];
    throw new VolumeError(`${part.of.toLowerCase()} "${part.name}" not found`);
  }
  if (part.items === undefined || part.items.length === 0)
    return Object.entries(found).map(([path, bytes]) => ({ path, bytes }));
  return part.items.flatMap(({ key, path, mode }) => {
    const bytes = ownValue(found, key);
    if (bytes !== undefined) return [{ path, bytes, mode }];
    if (part.optional) return [];
    const what = part.of === 'Secret' ? 'secret' : 'config';
    throw new VolumeError(
      `references non-existent ${what} key: ${key} (${part.of} ${pod.metadata.namespace ?? ''}/${part.name})`,
    );
  });
}

function downward(
  { fieldRef, resourceFieldRef }: Pick<DownwardAPIVolumeFile, 'fieldRef' | 'resourceFieldRef'>,
  inputs: FileInputs,
): string {
  const { labels, annotations } = inputs.pod.metadata;
  if (fieldRef?.fieldPath === 'metadata.labels') return formatMap(labels);
  if (fieldRef?.fieldPath === 'metadata.annotations') return formatMap(annotations);
  if (fieldRef !== undefined) return podField(fieldRef.fieldPath, inputs);
  if (resourceFieldRef === undefined) throw new VolumeError('a file of the downward API names no field');
  const { containers, initContainers = [] } = inputs.pod.spec;
  const of = (each: Container): boolean => each.name === resourceFieldRef.containerName;
  const container = [...containers, ...initContainers].find(of);
  if (container === undefined) throw new VolumeError(`container ${resourceFieldRef.containerName ?? ''} not found`);
  return resourceField(resourceFieldRef, container, inputs);
}

/** DOWN-08, DOWN-09: one `key="escaped value"` per line, sorted by key. */
function formatMap(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, text]) => `${key}=${JSON.stringify(text)}`)
    .join('\n');
}
