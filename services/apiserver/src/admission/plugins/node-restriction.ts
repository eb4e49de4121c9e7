import { forbiddenError, type StatusError } from '@holdfast/machinery';
import { nodeOf } from '../../identity.ts';
import { decodePod } from '../decode.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';

const NODE_LEASES_NAMESPACE = 'kube-node-lease';

/** A kubelet touches its own Node, its own Lease and the pods bound to it: a stolen credential is worth one node. */
export const createNodeRestriction = (_deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'NodeRestriction',
  handles: (request) => nodeOf(request.user) !== undefined,
  validate: (request) => {
    const node = nodeOf(request.user) ?? '';
    if (isCore(request, 'nodes')) checkNode(request, node);
    else if (isCore(request, 'pods')) checkPod(request, node);
    else if (request.definition.group === 'coordination.k8s.io') checkLease(request, node);
  },
});

const refuse = (request: AdmissionRequest, why: string): StatusError => forbiddenError(subjectOfRequest(request), why);

function checkNode(request: AdmissionRequest, node: string): void {
  if (request.name !== node) {
    throw refuse(request, `node "${node}" is not allowed to modify node "${request.name}"`);
  }
  if (request.operation === 'DELETE') throw refuse(request, `node "${node}" is not allowed to delete itself`);
}

function checkPod(request: AdmissionRequest, node: string): void {
  if (request.operation === 'CREATE' && request.subresource === '') {
    throw refuse(request, `node "${node}" may not create pods`);
  }
  if (request.operation === 'UPDATE' && request.subresource !== 'status') {
    throw refuse(request, `node "${node}" may only update the status of a pod`);
  }
  if (request.old !== undefined && decodePod(request.old).spec?.nodeName !== node) {
    throw refuse(request, `node "${node}" can only touch pods with spec.nodeName set to itself`);
  }
}

function checkLease(request: AdmissionRequest, node: string): void {
  if (request.namespace !== NODE_LEASES_NAMESPACE || request.name !== node) {
    throw refuse(request, `node "${node}" can only touch the lease "${node}" in ${NODE_LEASES_NAMESPACE}`);
  }
}
