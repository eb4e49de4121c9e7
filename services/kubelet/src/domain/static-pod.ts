import { createHash } from 'node:crypto';
import {
  findResource,
  isTerminating,
  type KubeObject,
  MIRROR_ANNOTATION,
  type ObjectMeta,
  type Pod,
  schemaFor,
} from '@holdfast/api';
import { DecodeError, decodeWithSchema, type Json } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';

const HASH = 'kubernetes.io/config.hash';
const SOURCE = 'kubernetes.io/config.source';
const SEEN = 'kubernetes.io/config.seen';

const FILE_UID = /^[0-9a-f]{32}$/;

/** The file does not describe a valid static pod. */
export class StaticPodError extends Error {
  override readonly name = 'StaticPodError';
}

/**
 * A pod of a file of this node. Its name carries the node's, so that files of several nodes may be equal; its UID is made
 * of what the file says, so that a changed file is another pod.
 */
export function readStaticPod(document: Json, nodeName: string, now: number): Pod {
  const pod = decode(document);
  const { name = '', namespace = 'default' } = pod.metadata;
  if (name === '') throw new StaticPodError('metadata.name is missing');
  const hash = createHash('sha256')
    .update(`${nodeName}\n${JSON.stringify(document)}`)
    .digest('hex')
    .slice(0, 32);
  const annotations = { ...pod.metadata.annotations, [HASH]: hash, [SOURCE]: 'file', [SEEN]: formatTime(now) };
  const tolerations = [...(pod.spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }];
  const made: Pod = {
    ...pod,
    metadata: {
      ...pod.metadata,
      name: `${name}-${nodeName}`,
      namespace,
      uid: hash,
      resourceVersion: '1',
      annotations,
    },
    spec: { ...pod.spec, nodeName, tolerations },
    status: { phase: 'Pending' },
  };
  refuse(made, now);
  return made;
}

function decode(document: Json): Pod {
  const schema = schemaFor('', 'v1', 'Pod');
  if (schema === undefined) throw new StaticPodError('pods are not known');
  try {
    const { value } = decodeWithSchema(document, schema);
    if (value['kind'] !== 'Pod' || value['apiVersion'] !== 'v1') throw new StaticPodError('this is not a v1 Pod');
    // Checked against the schema of pods just now.
    const pod = structuredClone(value) as unknown as Pod;
    const withStatus = { ...pod, metadata: pod.metadata ?? {}, status: {} };
    findResource('', 'v1', 'pods')?.setDefaults(withStatus);
    return withStatus;
  } catch (error) {
    if (error instanceof DecodeError) throw new StaticPodError(error.message);
    throw error;
  }
}

/** The API server would not take its mirror, or the kubelet would have to ask the API for what it needs. */
function refuse(pod: Pod, now: number): void {
  const [problem] = findResource('', 'v1', 'pods')?.strategy.validateCreate(pod, { now }) ?? [];
  if (problem !== undefined) throw new StaticPodError(`${problem.field}: ${problem.detail}`);
  const { spec } = pod;
  if ((spec.serviceAccountName ?? '') !== '') throw new StaticPodError('static pods may not reference serviceaccounts');
  const text = JSON.stringify(spec);
  for (const [field, kind] of REFERENCES)
    if (text.includes(`"${field}":`)) throw new StaticPodError(`static pods may not reference ${kind}`);
}

const REFERENCES = [
  ['configMap', 'configmaps'],
  ['configMapRef', 'configmaps'],
  ['configMapKeyRef', 'configmaps'],
  ['secret', 'secrets'],
  ['secretRef', 'secrets'],
  ['secretKeyRef', 'secrets'],
  ['serviceAccountToken', 'serviceaccounts'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
] as const;

/** Returns the API object of a static pod. */
export function mirrorOf(pod: Pod, node: KubeObject): Pod {
  const { name = '', namespace = '', labels, annotations = {} } = pod.metadata;
  const { name: nodeName = '', uid: nodeUid = '' } = node.metadata;
  const metadata: ObjectMeta = {
    name,
    namespace,
    ...(labels === undefined ? {} : { labels }),
    annotations: { ...annotations, [MIRROR_ANNOTATION]: annotations[HASH] ?? '' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid, controller: true }],
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: pod.spec, status: {} };
}

/**
 * True for a pod of a file of this node. The API never assigns such a UID; annotations are not proof, because users may
 * write them.
 */
export const isStatic = ({ metadata: { uid = '', annotations } }: Pod): boolean =>
  annotations?.[SOURCE] === 'file' && annotations[HASH] === uid && FILE_UID.test(uid);

/** The pod that this is the mirror of. */
export const mirroredUid = ({ metadata }: Pod): string | undefined => metadata.annotations?.[MIRROR_ANNOTATION];

/** True for a mirror pod of a changed or removed file: it must be deleted before a new one is created. */
export function mirrorIsStale(mirror: Pod, pod: Pod | undefined): boolean {
  return pod === undefined || mirroredUid(mirror) !== pod.metadata.uid || isTerminating(mirror);
}

/** The file is gone: the pod ends with the grace it has. */
export function terminating(pod: Pod, now: number): Pod {
  if (isTerminating(pod)) return pod;
  const seconds = pod.spec.terminationGracePeriodSeconds ?? 30;
  const deletionTimestamp = formatTime(now + seconds * 1000);
  return {
    ...pod,
    metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: Math.max(1, seconds) },
  };
}
