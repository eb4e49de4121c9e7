import type { ResourceRequest } from '../http/request-info.ts';

const READS: readonly string[] = ['get', 'list', 'watch'];
const OWN_VERBS: readonly string[] = ['get', 'create', 'update', 'patch', 'delete'];
const LEASES = 'kube-node-lease';

/** Returns the refusal of a kubelet's request for foreign objects, in the words of Kubernetes' node authorizer. */
export function nodeRefusal(node: string, info: ResourceRequest): string | undefined {
  const { group, resource } = info;
  return REFUSALS.get(group === '' ? resource : `${resource}.${group}`)?.(node, info);
}

type Refusal = (node: string, info: ResourceRequest) => string | undefined;

const unrelated = (node: string): string => `no relationship found between node '${node}' and this object`;

const ofObject: Refusal = (node, { verb, subresource, name }) => {
  if (verb !== 'get') return 'can only get individual resources of this type';
  if (subresource !== '') return 'cannot get subresource';
  return name === '' ? 'No Object name found' : unrelated(node);
};

const ofReference: Refusal = (node, { verb, subresource, namespace, name }) => {
  if (!READS.includes(verb)) return 'can only read resources of this type';
  if (subresource !== '') return 'cannot read subresource';
  if (namespace === '') return 'can only read namespaced object of this type';
  return name === '' ? 'No Object name found' : unrelated(node);
};

const ofClaim: Refusal = (node, info) => {
  if (info.subresource !== 'status') return ofObject(node, info);
  const isChange = info.verb === 'update' || info.verb === 'patch';
  return isChange ? unrelated(node) : 'can only get/update/patch this type';
};

const ofAccount: Refusal = (node, { verb, name, subresource }) => {
  if (verb !== 'create' || name === '') return 'can only create tokens for individual service accounts';
  return subresource === 'token' ? unrelated(node) : 'can only create token subresource of serviceaccount';
};

const ofLease: Refusal = (_node, { verb, namespace }) => {
  if (!OWN_VERBS.includes(verb)) return 'can only get, create, update, patch, or delete a node lease';
  if (namespace !== LEASES) return `can only access leases in the "${LEASES}" system namespace`;
  return 'can only access node lease with the same name as the requesting node';
};

const ofDriver: Refusal = (_node, { verb, subresource }) => {
  if (!OWN_VERBS.includes(verb)) return 'can only get, create, update, patch, or delete a CSINode';
  if (subresource !== '') return 'cannot authorize CSINode subresources';
  return 'can only access CSINode with the same name as the requesting node';
};

const ofNode: Refusal = (node, { verb, subresource, name }) => {
  if (subresource !== '' || !READS.includes(verb)) return undefined;
  return name === ''
    ? `node '${node}' cannot read all nodes, only its own Node object`
    : `node '${node}' cannot read '${name}', only its own Node object`;
};

const ofPod: Refusal = (node, info) => {
  if (info.subresource !== '') return undefined;
  if (info.verb === 'get') return ofObject(node, info);
  const isLook = info.verb === 'list' || info.verb === 'watch';
  return isLook ? 'can only list/watch pods with spec.nodeName field selector' : undefined;
};

const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['secrets', ofReference],
  ['configmaps', ofReference],
  ['persistentvolumeclaims', ofClaim],
  ['persistentvolumes', ofObject],
  ['volumeattachments.storage.k8s.io', ofObject],
  ['serviceaccounts', ofAccount],
  ['leases.coordination.k8s.io', ofLease],
  ['csinodes.storage.k8s.io', ofDriver],
  ['nodes', ofNode],
  ['pods', ofPod],
]);
