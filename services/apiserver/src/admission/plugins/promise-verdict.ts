import { type Lease, NODE_LEASES_NAMESPACE, SELF_FENCING, SELF_FENCING_BROKEN } from '@holdfast/api';
import { deepEqual, forbiddenError } from '@holdfast/machinery';
import { isOwnController, nodeOf } from '../../authentication/identity.ts';
import { isAllowed } from '../../authorization/chain.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, subjectOfRequest } from '../port.ts';
import { asLease } from '../typed-objects.ts';

/**
 * Restricts who may write a node's promise, and declare it broken. This releases names and volumes of exclusive pods,
 * so permission to write leases, which users have for their own elections, is not enough.
 */
export const createPromiseVerdict = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'PromiseVerdict',
  handles: (request) =>
    deps.ownershipRule === 'enforced' &&
    request.operation !== 'DELETE' &&
    isNodeLease(request) &&
    nodeOf(request.user) === undefined &&
    !deepEqual(wordsOf(request.old), wordsOf(request.object)),
  validate: async (request) => {
    if (changesMarkOnly(request) && isOwnController(request.user)) return;
    const reason = await isAllowed(deps.access.authorizers, request.user, {
      kind: 'resource',
      path: '',
      verb: 'update',
      group: '',
      version: 'v1',
      namespace: '',
      resource: 'nodes',
      name: request.name,
      subresource: 'self-fencing',
      rest: '',
    });
    if (reason !== undefined) return;
    const right = 'verb "update" on resource "nodes/self-fencing"';
    throw forbiddenError(
      subjectOfRequest(request),
      `changing the promise of a node, or breaking it, requires a separate permission (${right})`,
    );
  },
});

const isNodeLease = ({ definition, namespace }: AdmissionRequest): boolean =>
  definition.group === 'coordination.k8s.io' && definition.plural === 'leases' && namespace === NODE_LEASES_NAMESPACE;

interface Words {
  readonly policy?: string | undefined;
  readonly seconds?: number | undefined;
  readonly broken?: string | undefined;
}

/** Empty where nothing is promised: leases of other kubelets are of no concern. */
function wordsOf(object: AdmissionRequest['object']): Words {
  const { metadata, spec }: Partial<Lease> = object === undefined ? {} : asLease(object);
  const { [SELF_FENCING]: policy, [SELF_FENCING_BROKEN]: broken } = metadata?.annotations ?? {};
  if (policy === undefined && broken === undefined) return {};
  return { policy, broken, seconds: spec?.leaseDurationSeconds };
}

function changesMarkOnly({ old, object }: AdmissionRequest): boolean {
  const { broken: _before, ...before } = wordsOf(old);
  const { broken, ...after } = wordsOf(object);
  return broken !== undefined && deepEqual(before, after);
}
