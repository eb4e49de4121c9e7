import {
  FENCED,
  FENCING_PREFIX,
  NODE_FENCED,
  type NodeCondition,
  OUT_OF_SERVICE_TAINT,
  SELF_FENCED,
} from '@holdfast/api';
import { deepEqual, forbiddenError } from '@holdfast/machinery';
import { FENCER, isController, nodeOf, POD_GARBAGE_COLLECTOR } from '../../authentication/identity.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asNode } from '../typed-objects.ts';

/**
 * Restricts who may declare that a node runs nothing any more. The out-of-service taint and the deletion of a Node
 * release the identities and volumes of its pods. So only a user or the fencer, who have checked the machine, may set
 * them: never a component that only missed heartbeats, and never the node itself.
 */
export const createNodeVerdict = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'NodeVerdict',
  handles: (request) =>
    deps.ownershipRule === 'enforced' &&
    isCore(request, 'nodes') &&
    (hasNotLooked(request) || request.user.name === FENCER),
  admit: (request) => {
    if (nodeOf(request.user) !== undefined) stayDown(request);
  },
  validate: (request) => {
    if (request.user.name === FENCER) return waitForAgent(request);
    if (request.operation === 'DELETE') throw refusal(request, 'delete a Node');
    if (verdictOf(request.object) !== verdictOf(request.old)) throw refusal(request, `change the condition ${FENCED}`);
    if (nodeOf(request.user) !== undefined && saysSelfFenced(request.object) !== saysSelfFenced(request.old)) {
      throw refusal(request, `change the condition ${SELF_FENCED}`);
    }
    if (isOutOfService(request.object) && !isOutOfService(request.old)) {
      throw refusal(request, `set the taint ${OUT_OF_SERVICE_TAINT}`);
    }
    if (!deepEqual(wordsOn(request.object), wordsOn(request.old))) {
      throw refusal(request, `change annotations ${FENCING_PREFIX}*`);
    }
  },
});

/** The fencer looks through its agents: what they have confirmed is on the Node before anything follows from it. */
function waitForAgent(request: AdmissionRequest): void {
  const condemns = request.operation === 'DELETE' || (isOutOfService(request.object) && !isOutOfService(request.old));
  if (!condemns || verdictOf(request.old) === CONFIRMED) return;
  const why = `the fencer may not give the node up: its condition ${FENCED} does not say that a fence of the node is confirmed`;
  throw forbiddenError(subjectOfRequest(request), why);
}

const hasNotLooked = ({ user }: AdmissionRequest): boolean =>
  isController(user) || user.name === POD_GARBAGE_COLLECTOR || nodeOf(user) !== undefined;

function isOutOfService(object: AdmissionRequest['object']): boolean {
  const taints = object === undefined ? [] : (asNode(object).spec?.taints ?? []);
  return taints.some((taint) => taint.key === OUT_OF_SERVICE_TAINT);
}

function conditionIn(object: AdmissionRequest['object'], type: string): NodeCondition | undefined {
  const conditions = object === undefined ? [] : (asNode(object).status?.conditions ?? []);
  return conditions.find((condition) => condition.type === type);
}

const saysSelfFenced = (object: AdmissionRequest['object']): string | undefined =>
  conditionIn(object, SELF_FENCED)?.status;

/** Uses all conditions of the type: a reader may use the first or any of them. */
function verdictOf(object: AdmissionRequest['object']): string {
  const conditions = object === undefined ? [] : (asNode(object).status?.conditions ?? []);
  const fences = conditions.filter(({ type }) => type === FENCED);
  return fences.map(({ status, reason }) => `${status} ${reason ?? ''}`).join(', ');
}

/** The annotations for and of the fencer: a node that could write them would lift its own fence. */
const wordsOn = (object: AdmissionRequest['object']): object =>
  Object.fromEntries(
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => key.startsWith(FENCING_PREFIX)),
  );

const CONFIRMED = `True ${NODE_FENCED}`;

/** A fenced machine that still responds is not ready until somebody lifts the fence. */
function stayDown({ old, object }: AdmissionRequest): void {
  if (verdictOf(old) !== CONFIRMED) return;
  const ready = conditionIn(object, 'Ready');
  if (ready?.status !== 'True') return;
  ready.status = 'False';
  ready.reason = NODE_FENCED;
  ready.message = 'the node is fenced until it is unfenced by hand';
}

const refusal = (request: AdmissionRequest, what: string): Error =>
  forbiddenError(
    subjectOfRequest(request),
    `only a user or the fencer may ${what}: it declares that nothing runs on the machine any more`,
  );
