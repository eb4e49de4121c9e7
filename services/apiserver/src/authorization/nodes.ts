import {
  type Container,
  localPathNode,
  localPathSelector,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  type Pod,
  VOLUME_ATTACHMENTS,
  type Volume,
} from '@holdfast/api';
import { nodeOf } from '../authentication/identity.ts';
import type { ObjectReader } from '../cache/reader.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { selectorIn } from '../http/selected-name.ts';
import { isKubeletKind } from './kubelet-kinds.ts';
import { nodeRefusal } from './node-refusals.ts';
import type { Authorizer } from './port.ts';

const KUBELET = 'kubelet of its node';

/**
 * A kubelet sees its own Node and Lease, the pods bound to it, and what those pods refer to: a stolen credential is worth
 * one node. What it may write of these is narrowed further in admission.
 */
export const createNodeAuthorizer = (reader: ObjectReader): Authorizer => ({
  authorize: (user, info) => {
    const node = nodeOf(user);
    if (node === undefined || node === '' || info.kind !== 'resource') return undefined;
    return mayNode(reader, node, info) ? KUBELET : undefined;
  },
  whyNot: (user, info) => {
    const node = nodeOf(user);
    if (node === '') return `unknown node for user ${JSON.stringify(user.name)}`;
    return node === undefined || info.kind !== 'resource' ? undefined : nodeRefusal(node, info);
  },
});

function mayNode(reader: ObjectReader, node: string, info: ResourceRequest): boolean {
  // From here on, the resource alone says which kind it is.
  if (!isKubeletKind(info)) return false;
  const asked = `${info.verb} ${info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`}`;
  if (ALWAYS.has(asked)) return true;
  if (info.resource === 'leases') return info.namespace === LEASES && (info.verb === 'create' || isOwn(node, info));
  if (info.resource === 'csinodes') return isOwn(node, info);
  if (info.resource === 'persistentvolumes' && isOwnDirectory(reader, node, info)) return true;
  // After a node has expanded the file system of a volume. Admission limits it to the size and the conditions.
  if (asked === 'update persistentvolumeclaims/status' || asked === 'patch persistentvolumeclaims/status')
    return isUsed(reader, node, info);
  // Behind a subresource are logs, commands and the node's own API, and no kubelet asks for these.
  if (!READS.has(info.verb) || info.subresource !== '') return false;
  switch (info.resource) {
    case 'nodes':
      return pinned(info, 'metadata.name') === node;
    case 'pods':
      return info.verb === 'get' ? isOwnPod(reader, node, info) : pinned(info, 'spec.nodeName') === node;
    case 'secrets':
      return isReferred(reader, node, info) || (info.verb === 'get' && isVolumeKey(reader, node, info));
    case 'configmaps':
    case 'persistentvolumeclaims':
      return isReferred(reader, node, info);
    case 'persistentvolumes':
      return info.verb === 'get' && isMounted(reader, node, info.name);
    case 'volumeattachments':
      return info.verb === 'get' && isAttached(reader, node, info.name);
    default:
      return false;
  }
}

/** The verbs of a node on objects with its name. On create only admission knows the name. */
const OWN: ReadonlySet<string> = new Set(['get', 'update', 'patch', 'delete']);
const LEASES = 'kube-node-lease';

const isOwn = (node: string, { verb, name }: ResourceRequest): boolean => OWN.has(verb) && name === node;

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

const verbs = (resource: string, ...each: readonly string[]): readonly string[] =>
  each.map((verb) => `${verb} ${resource}`);

/** Harmless for everybody, or limited to the node by admission. */
const ALWAYS: ReadonlySet<string> = new Set([
  ...verbs('nodes', 'create', 'update', 'patch'),
  ...verbs('nodes/status', 'update', 'patch'),
  ...verbs('pods', 'create', 'delete'),
  ...verbs('pods/status', 'update', 'patch'),
  ...verbs('csinodes', 'create'),
  ...verbs('events', 'create', 'update', 'patch'),
  ...verbs('services', ...READS),
  ...verbs('runtimeclasses', ...READS),
  ...verbs('csidrivers', ...READS),
  ...verbs('serviceaccounts/token', 'create'),
  ...verbs('tokenreviews', 'create'),
  ...verbs('subjectaccessreviews', 'create'),
  ...verbs('localsubjectaccessreviews', 'create'),
  ...verbs('endpoints', 'get'),
  ...verbs('certificatesigningrequests', 'create', ...READS),
]);

/** The one value that the request can be about. */
function pinned(info: ResourceRequest, field: string): string | undefined {
  if (field === 'metadata.name' && info.name !== '') return info.name;
  return selectorIn(info.fieldSelector ?? '')?.requiredValue(field);
}

/** A deleted pod may be requested: the response is 404 and reveals nothing. */
function isOwnPod(reader: ObjectReader, node: string, { namespace, name }: ResourceRequest): boolean {
  const pod = reader.cached(PODS, { namespace, name });
  return pod === undefined || pod.spec?.nodeName === node;
}

/**
 * A node follows the local-path volumes that are directories of it, and returns their finalizer. What it may change is
 * limited further in admission.
 */
function isOwnDirectory(reader: ObjectReader, node: string, info: ResourceRequest): boolean {
  const { verb, name, subresource, labelSelector } = info;
  if (subresource !== '') return false;
  if (name === '') return (verb === 'list' || verb === 'watch') && labelSelector === localPathSelector(node);
  if (verb !== 'get' && verb !== 'update') return false;
  const volume = reader.cached(PERSISTENT_VOLUMES, { name });
  return volume !== undefined && localPathNode(volume) === node;
}

/** The nodes of a claim's pods may read its volume. A deleted one reveals nothing. */
function isMounted(reader: ObjectReader, node: string, name: string): boolean {
  const volume = reader.cached(PERSISTENT_VOLUMES, { name });
  return volume === undefined || isClaimUsed(reader, node, volume);
}

function isClaimUsed(reader: ObjectReader, node: string, { spec }: PersistentVolume): boolean {
  const { namespace = '', name = '' } = spec.claimRef ?? {};
  return isUsed(reader, node, { namespace, resource: 'persistentvolumeclaims', name });
}

/** The nodes of a claim's pods may read the Secrets that a CSI driver, or the storage server, needs on a node. */
const isVolumeKey = (reader: ObjectReader, node: string, { namespace, name }: ResourceRequest): boolean =>
  podsOf(reader, node).some((pod) =>
    volumesOf(reader, pod).some((volume) => {
      const { nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef } = volume.spec.csi ?? {};
      return [nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef].some(
        (secret) => secret !== undefined && secret.namespace === namespace && secret.name === name,
      );
    }),
  );

/** The volumes that the claims of a pod are bound to, each from both sides. */
function volumesOf(reader: ObjectReader, pod: Pod): readonly PersistentVolume[] {
  const { namespace = '' } = pod.metadata;
  return [...references(pod, 'persistentvolumeclaims')].flatMap((claim = '') => {
    const { volumeName = '' } = reader.cached(PERSISTENT_VOLUME_CLAIMS, { namespace, name: claim })?.spec ?? {};
    const volume = volumeName === '' ? undefined : reader.cached(PERSISTENT_VOLUMES, { name: volumeName });
    const { claimRef } = volume?.spec ?? {};
    return volume !== undefined && claimRef?.namespace === namespace && claimRef.name === claim ? [volume] : [];
  });
}

const podsOf = (reader: ObjectReader, node: string): readonly Pod[] => reader.listByField(PODS, 'spec.nodeName', node);

function isAttached(reader: ObjectReader, node: string, name: string): boolean {
  const attachment = reader.cached(VOLUME_ATTACHMENTS, { name });
  return attachment === undefined || attachment.spec.nodeName === node;
}

function isReferred(reader: ObjectReader, node: string, info: ResourceRequest): boolean {
  const name = pinned(info, 'metadata.name');
  return name !== undefined && isUsed(reader, node, { ...info, name });
}

type Used = Pick<ResourceRequest, 'namespace' | 'resource' | 'name'>;

/** A pod of the node names the object. */
function isUsed(reader: ObjectReader, node: string, { namespace, resource, name }: Used): boolean {
  if (namespace === '' || name === '') return false;
  return podsOf(reader, node).some(
    (pod) => pod.metadata.namespace === namespace && references(pod, resource).has(name),
  );
}

function references(pod: Pod, resource: string): ReadonlySet<string | undefined> {
  const { spec, metadata } = pod;
  const volumes = (spec?.volumes ?? []).flatMap((volume) => inVolume(volume, resource, metadata.name ?? ''));
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const inContainers = containers.flatMap((container) => inContainer(container, resource));
  const pulls = resource === 'secrets' ? (spec?.imagePullSecrets ?? []).map((each) => each.name) : [];
  return new Set([...volumes, ...inContainers, ...pulls]);
}

function inVolume(volume: Volume, resource: string, podName: string): readonly (string | undefined)[] {
  const projected = volume.projected?.sources ?? [];
  switch (resource) {
    case 'secrets':
      return [
        volume.secret?.secretName,
        volume.csi?.nodePublishSecretRef?.name,
        ...projected.map((each) => each.secret?.name),
      ];
    case 'configmaps':
      return [volume.configMap?.name, ...projected.map((each) => each.configMap?.name)];
    default:
      return [volume.ephemeral === undefined ? volume.persistentVolumeClaim?.claimName : `${podName}-${volume.name}`];
  }
}

function inContainer(container: Container, resource: string): readonly (string | undefined)[] {
  const { env = [], envFrom = [] } = container;
  if (resource === 'secrets') {
    return [...env.map((each) => each.valueFrom?.secretKeyRef?.name), ...envFrom.map((each) => each.secretRef?.name)];
  }
  if (resource !== 'configmaps') return [];
  return [
    ...env.map((each) => each.valueFrom?.configMapKeyRef?.name),
    ...envFrom.map((each) => each.configMapRef?.name),
  ];
}
