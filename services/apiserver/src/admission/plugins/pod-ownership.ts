import {
  hasTaint,
  isCovered,
  isFinishedPhase,
  isNodeReady,
  isPodFinished,
  isTerminating,
  LEASES,
  NODE_LEASES_NAMESPACE,
  NODES,
  OUT_OF_SERVICE_TAINT,
  type Pod,
  promiseOf,
} from '@holdfast/api';
import { forbiddenError } from '@holdfast/machinery';
import { FENCER, isController, nodeOf, POD_GARBAGE_COLLECTOR } from '../../authentication/identity.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asPod } from '../typed-objects.ts';

/** Adds what only the server knows to the general warning that kubectl prints by itself. */
export const forceDeleteWarning = (pod: string, node: string): string =>
  `pod ${pod} is removed before node ${node} has confirmed that its processes ended: ` +
  'they may go on running there; two instances may run at once, and data may be lost';

/**
 * Restricts who may end a pod. Only the kubelet of its node knows that a pod's processes are dead. So only it (or proof
 * that the node cannot run anything) may remove the object of a bound pod, or set a final phase. All others request the
 * deletion and wait.
 */
export const createPodOwnership = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'PodOwnership',
  handles: (request) =>
    isCore(request, 'pods') &&
    (request.operation === 'DELETE' || (request.operation === 'UPDATE' && request.subresource === 'status')),
  admit: (request) => {
    if (deps.ownershipRule === 'enforced') waitForKubelet(request);
  },
  validate: (request) => {
    if (request.old === undefined) return undefined;
    const pod = asPod(request.old);
    if ((pod.spec?.nodeName ?? '') === '') return undefined;
    const ends = request.operation === 'DELETE' ? isForced(request, pod) : declaresFinished(request, pod);
    return ends ? judge(deps, request, pod) : undefined;
  },
});

async function judge(deps: AdmissionDeps, request: AdmissionRequest, pod: Pod): Promise<void> {
  if (deps.ownershipRule === 'enforced') await refuseUnlessProven(deps, request, pod);
  warnUsers(request, pod.spec?.nodeName ?? '');
}

/** A pod that grants its processes no time still has processes: a controller's deletion waits for the kubelet to end them. */
function waitForKubelet(request: AdmissionRequest): void {
  const { old, deleteOptions, user } = request;
  if (old === undefined || deleteOptions === undefined || deleteOptions.gracePeriodSeconds !== undefined) return;
  const pod = asPod(old);
  const bound = (pod.spec?.nodeName ?? '') !== '' && !isPodFinished(pod);
  if (bound && isController(user) && (pod.spec?.terminationGracePeriodSeconds ?? 0) === 0) {
    deleteOptions.gracePeriodSeconds = 1;
  }
}

/** Uses the effective grace period: a pod whose own period is 0 would be removed immediately without any explicit 0. */
function isForced({ deleteOptions }: AdmissionRequest, pod: Pod): boolean {
  if (isPodFinished(pod) && deleteOptions?.gracePeriodSeconds === undefined) return false;
  return (deleteOptions?.gracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 0) === 0;
}

/** A terminal phase makes the next ordinary deletion immediate, so writing it is as strong as removing the pod. */
function declaresFinished(request: AdmissionRequest, old: Pod): boolean {
  const phase = request.object === undefined ? '' : (asPod(request.object).status?.phase ?? '');
  return isFinishedPhase(phase) && !isPodFinished(old);
}

async function refuseUnlessProven(deps: AdmissionDeps, request: AdmissionRequest, pod: Pod): Promise<void> {
  const { user } = request;
  const node = nodeOf(user);
  if (node !== undefined) return refuseForeignKubelet(request, pod, node);
  const needsProof = user.name === POD_GARBAGE_COLLECTOR || user.name === FENCER || isController(user);
  if (!needsProof) return;
  const mayProve = user.name === POD_GARBAGE_COLLECTOR || user.name === FENCER;
  if (mayProve && (await nodeCannotRun(deps, pod, user.name === FENCER))) return;
  throw refusal(request, pod, mayProve);
}

function refuseForeignKubelet(request: AdmissionRequest, pod: Pod, node: string): void {
  if (pod.spec?.nodeName !== node) {
    throw forbiddenError(
      subjectOfRequest(request),
      `node "${node}" can only end pods with spec.nodeName set to itself`,
    );
  }
  if (request.operation === 'DELETE' && request.deleteOptions?.preconditions?.uid === undefined) {
    throw forbiddenError(
      subjectOfRequest(request),
      'a kubelet must name the uid of the pod it removes (preconditions.uid), because the name may belong to another pod by now',
    );
  }
}

/**
 * The Node object is gone, or somebody has confirmed that the machine is out of service. The fencer gets that from its
 * agent. For the pod garbage collector it counts only when the node is silent and the pod's deletion was requested.
 */
async function nodeCannotRun(deps: AdmissionDeps, pod: Pod, isFencer: boolean): Promise<boolean> {
  const node = await deps.reader.fresh(NODES, { name: pod.spec?.nodeName ?? '' });
  if (node === undefined) return true;
  if (hasTaint(node, OUT_OF_SERVICE_TAINT) && (isFencer || (!isNodeReady(node) && isTerminating(pod)))) return true;
  return !isFencer && isEndedByWatchdog(deps, pod);
}

/**
 * The promise of its node is broken, and the deletion was stored before this look at the lease: a kubelet that promises again reads
 * the pod after that, and starts nothing of it. The order is the proof, see `docs/decisions/0011-self-fencing.md`.
 */
async function isEndedByWatchdog({ reader }: AdmissionDeps, pod: Pod): Promise<boolean> {
  if (!isTerminating(pod)) return false;
  const lease = await reader.fresh(LEASES, { namespace: NODE_LEASES_NAMESPACE, name: pod.spec?.nodeName ?? '' });
  const promise = promiseOf(lease);
  return promise?.isBroken === true && isCovered(promise.policy, pod);
}

function refusal(request: AdmissionRequest, pod: Pod, mayProve: boolean): Error {
  const node = pod.spec?.nodeName ?? '';
  const condition = mayProve
    ? `the Node must be gone, or silent and tainted ${OUT_OF_SERVICE_TAINT}, or past its promise to end the pod, while the pod is terminating`
    : 'delete it with a grace period and wait';
  return forbiddenError(
    subjectOfRequest(request),
    `pod is bound to node "${node}" and only its kubelet can confirm that its processes have ended: ${condition}`,
  );
}

/** UI-02: warns users who force a deletion; a kubelet's own confirmation needs no warning. */
function warnUsers(request: AdmissionRequest, node: string): void {
  const { user } = request;
  if (request.operation !== 'DELETE' || nodeOf(user) !== undefined) return;
  if (user.name === POD_GARBAGE_COLLECTOR || user.name === FENCER || isController(user)) return;
  request.warn(forceDeleteWarning(request.name, node));
}
