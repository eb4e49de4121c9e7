import {
  ARCH_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  isDirectoryDue,
  isMirrorPod,
  LOCAL_PATH_FINALIZER,
  localPathNode,
  MIRROR_ANNOTATION,
  NODES,
  OLD_ARCH_LABEL,
  OLD_INSTANCE_TYPE_LABEL,
  OLD_OS_LABEL,
  OLD_REGION_LABEL,
  OLD_ZONE_LABEL,
  OS_LABEL,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  REGION_LABEL,
  ZONE_LABEL,
} from '@holdfast/api';
import { deepEqual, forbiddenError, notFound, type StatusError, semanticEqual } from '@holdfast/machinery';
import { nodeOf } from '../../authentication/identity.ts';
import type { ObjectReader } from '../../cache/reader.ts';
import { referenceOf } from '../pod-references.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asClaim, asNode, asPod, asVolume } from '../typed-objects.ts';

const NODE_LEASES_NAMESPACE = 'kube-node-lease';

/** A kubelet touches its own Node, its own Lease and the pods bound to it: a stolen credential is worth one node. */
export const createNodeRestriction = ({ reader }: AdmissionDeps): AdmissionPlugin => ({
  name: 'NodeRestriction',
  handles: (request) => nodeOf(request.user) !== undefined,
  validate: (request) => {
    const node = nodeOf(request.user) ?? '';
    if (isCore(request, 'nodes')) checkNode(request, node);
    else if (isMirrorCreation(request)) return checkMirror(reader, request, node);
    else if (isCore(request, 'pods')) checkPod(request, node);
    else if (request.definition.group === 'coordination.k8s.io') checkLease(request, node);
    else if (request.definition.plural === 'csinodes') checkDriver(request, node);
    else if (isCore(request, 'persistentvolumes')) checkVolume(request, node);
    else if (isCore(request, 'persistentvolumeclaims')) checkClaim(request, node);
    return undefined;
  },
});

const refuse = (request: AdmissionRequest, why: string): StatusError => forbiddenError(subjectOfRequest(request), why);

function checkNode(request: AdmissionRequest, node: string): void {
  if (request.name !== node) {
    throw refuse(request, `node "${node}" is not allowed to modify node "${request.name}"`);
  }
  if (request.operation === 'DELETE') throw refuse(request, `node "${node}" is not allowed to delete itself`);
  if (request.object === undefined) return;
  const wanted = asNode(request.object);
  const old = request.old === undefined ? undefined : asNode(request.old);
  if (old !== undefined && !deepEqual(wanted.spec.taints ?? [], old.spec.taints ?? [])) {
    throw refuse(request, `node "${node}" is not allowed to modify taints`);
  }
  // A controller gives networks to nodes. One that chose its own could take those of others, or all.
  if (!deepEqual(wanted.spec.podCIDRs ?? [], old?.spec.podCIDRs ?? [])) {
    throw refuse(request, `node "${node}" is not allowed to choose its networks (spec.podCIDRs)`);
  }
  // With the owner gone, garbage collection would delete the Node, and it would be registered again with any labels and
  // taints.
  if (old !== undefined && !deepEqual(wanted.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    throw refuse(request, `node "${node}" is not allowed to modify ownerReferences`);
  }
  const labels = forbiddenLabels(wanted.metadata.labels ?? {}, old?.metadata.labels ?? {});
  if (labels.length === 0) return;
  const what = old === undefined ? `node "${node}" is not allowed to set the following` : 'is not allowed to modify';
  throw refuse(request, `${what} labels: ${labels.join(', ')}`);
}

const OWN_LABELS: ReadonlySet<string> = new Set([
  HOSTNAME_LABEL,
  OS_LABEL,
  ARCH_LABEL,
  OLD_OS_LABEL,
  OLD_ARCH_LABEL,
  OLD_INSTANCE_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  ZONE_LABEL,
  REGION_LABEL,
  OLD_ZONE_LABEL,
  OLD_REGION_LABEL,
]);
const OWN_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const RESTRICTED_DOMAIN = 'node-restriction.kubernetes.io';
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];

type Labels = Readonly<Record<string, string>>;

/** Labels that workloads are steered by: a node that could set them could draw any workload to itself. */
function forbiddenLabels(wanted: Labels, old: Labels): readonly string[] {
  const changed = [...new Set([...Object.keys(wanted), ...Object.keys(old)])].filter((key) => wanted[key] !== old[key]);
  return changed.filter((key) => !mayNodeSet(key)).sort();
}

function mayNodeSet(key: string): boolean {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  if (isWithin(domain, RESTRICTED_DOMAIN)) return false;
  if (!KUBERNETES_DOMAINS.some((each) => isWithin(domain, each))) return true;
  return OWN_LABELS.has(key) || OWN_DOMAINS.some((each) => isWithin(domain, each));
}

const isWithin = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);

/** Whatever pod a node creates has to be one. */
const isMirrorCreation = (request: AdmissionRequest): boolean =>
  isCore(request, 'pods') && request.operation === 'CREATE' && request.subresource === '';

function checkPod(request: AdmissionRequest, node: string): void {
  const { operation, subresource } = request;
  if (subresource !== '' && subresource !== 'status') {
    const why = `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`;
    throw refuse(request, why);
  }
  if (operation === 'UPDATE' && subresource === '') {
    throw refuse(request, `unexpected operation "UPDATE", node "${node}" can only create and delete mirror pods`);
  }
  const old = request.old === undefined ? undefined : asPod(request.old);
  if (old !== undefined && old.spec?.nodeName !== node) {
    const what = operation === 'DELETE' ? 'delete pods' : 'update pod status for pods';
    throw refuse(request, `node "${node}" can only ${what} with spec.nodeName set to itself`);
  }
  if (operation === 'UPDATE' && !deepEqual(request.object?.metadata.labels ?? {}, old?.metadata.labels ?? {})) {
    throw refuse(request, `node "${node}" cannot update labels through pod status`);
  }
}

/** A node shows the pods of its own files, and makes no others. */
async function checkMirror(reader: ObjectReader, request: AdmissionRequest, node: string): Promise<void> {
  const pod = request.object === undefined ? undefined : asPod(request.object);
  if (pod === undefined || !isMirrorPod(pod)) {
    throw refuse(
      request,
      `pod does not have "${MIRROR_ANNOTATION}" annotation, node "${node}" can only create mirror pods`,
    );
  }
  if (pod.spec.nodeName !== node) {
    throw refuse(request, `node "${node}" can only create pods with spec.nodeName set to itself`);
  }
  const wrongOwner = ownerProblem(pod, node);
  if (wrongOwner !== undefined) throw refuse(request, `node "${node}" ${wrongOwner}`);
  await checkOwnerUid(reader, request, { pod, node });
  const foreign = (pod.spec.serviceAccountName ?? '') === '' ? referenceOf(pod) : 'a service account';
  if (foreign !== undefined) throw refuse(request, `node "${node}" can not create pods that reference ${foreign}`);
}

/** An owner of the same name that is another object would have the pod collected, or kept, for nothing. */
async function checkOwnerUid(
  reader: ObjectReader,
  request: AdmissionRequest,
  { pod, node }: { readonly pod: Pod; readonly node: string },
): Promise<void> {
  const found = await reader.fresh(NODES, { name: node });
  if (found === undefined) throw notFound({ group: '', resource: 'nodes', name: node });
  const { uid = '' } = found.metadata;
  const owner = pod.metadata.ownerReferences?.[0]?.uid ?? '';
  if (owner !== uid) throw refuse(request, `node ${node} UID mismatch: expected ${owner} got ${uid}`);
}

function ownerProblem({ metadata: { ownerReferences = [] } }: Pod, node: string): string | undefined {
  const [owner, ...more] = ownerReferences;
  if (more.length > 0) return 'can only create pods with a single owner reference set to itself';
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    return 'can only create pods with an owner reference set to itself';
  }
  if (owner.controller !== true) return 'can only create pods with a controller owner reference set to itself';
  return owner.blockOwnerDeletion === true ? 'must not set blockOwnerDeletion on an owner reference' : undefined;
}

function checkLease(request: AdmissionRequest, node: string): void {
  if (request.namespace !== NODE_LEASES_NAMESPACE) {
    throw refuse(request, `can only access leases in the "${NODE_LEASES_NAMESPACE}" system namespace`);
  }
  if (request.name === node) return;
  throw refuse(request, 'can only access node lease with the same name as the requesting node');
}

function checkDriver(request: AdmissionRequest, node: string): void {
  if (request.name === node) return;
  throw refuse(request, 'can only access CSINode with the same name as the requesting node');
}

/** A node only returns the finalizer of its directory, when the volume is being deleted. */
function checkVolume(request: AdmissionRequest, node: string): void {
  const { operation, subresource, object, old } = request;
  const isReturn = operation === 'UPDATE' && subresource === '' && object !== undefined && old !== undefined;
  if (!isReturn || !isReturned(asVolume(old), asVolume(object), node)) {
    throw refuse(request, `node "${node}" can only remove its finalizer from a volume that is being deleted`);
  }
}

function isReturned(old: PersistentVolume, next: PersistentVolume, node: string): boolean {
  if (localPathNode(old) !== node || !isDirectoryDue(old)) return false;
  const finalizers = (old.metadata.finalizers ?? []).filter((each) => each !== LOCAL_PATH_FINALIZER);
  const isOnly = (each: PersistentVolume) => ({
    ...each,
    metadata: { ...each.metadata, ...SERVER_FIELDS, finalizers: [] },
  });
  return deepEqual(next.metadata.finalizers ?? [], finalizers) && semanticEqual(isOnly(old), isOnly(next));
}

/** A node only reports that it has expanded a file system. */
function checkClaim(request: AdmissionRequest, node: string): void {
  const { operation, subresource, object, old } = request;
  const isReport = operation === 'UPDATE' && subresource === 'status' && object !== undefined && old !== undefined;
  if (!isReport) throw refuse(request, `node "${node}" may only update the status of a persistentvolumeclaim`);
  if (semanticEqual(withoutSize(asClaim(old)), withoutSize(asClaim(object)))) return;
  throw refuse(
    request,
    `node "${node}" may only update capacity, conditions and resize statuses of a persistentvolumeclaim`,
  );
}

function withoutSize(claim: PersistentVolumeClaim): object {
  const { capacity: _size, conditions: _conditions, ...status } = claim.status;
  const { allocatedResources: _allocated, allocatedResourceStatuses: _statuses, ...kept } = status;
  return { ...claim, metadata: { ...claim.metadata, ...SERVER_FIELDS }, status: kept };
}

/** Written by the server with every change. */
const SERVER_FIELDS = { managedFields: [], resourceVersion: '', generation: 0 };
