import { NAMESPACES, type Namespace, PODS, type Pod } from '@holdfast/api';
import { deepEqual, forbiddenError, invalidObject } from '@holdfast/machinery';
import { detailsText, type PodShape, violations } from '../pod-security/evaluate.ts';
import { isSameLevel, isStricter, type PodSecurityPolicy, printLevel, readPolicy } from '../pod-security/levels.ts';
import { existingPodWarnings } from '../pod-security/namespace-warnings.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { templateOf } from '../request-template.ts';
import { asPod } from '../typed-objects.ts';

/** The Pod Security Standards, as the labels of each namespace ask for them. */
export const createPodSecurity = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'PodSecurity',
  handles: (request) =>
    request.operation !== 'DELETE' && (isPodWrite(request) || isNamespaceWrite(request) || isTemplateWrite(request)),
  validate: (request) => {
    if (isNamespaceWrite(request)) return checkNamespace(deps, request);
    const known = deps.reader.cached(NAMESPACES, { name: request.namespace });
    if (known !== undefined) return checkIn(known, request);
    // A namespace that this server has not heard of yet has its policy all the same.
    return deps.reader.fresh(NAMESPACES, { name: request.namespace }).then((found) => checkIn(found, request));
  },
});

function checkIn(namespace: Namespace | undefined, request: AdmissionRequest): void {
  const { policy } = readPolicy(namespace?.metadata.labels);
  if (isPodWrite(request)) checkPod(request, policy);
  else warnOfTemplate(request, policy);
}

const isNamespaceWrite = (request: AdmissionRequest): boolean =>
  isCore(request, 'namespaces') && request.subresource === '';

const isTemplateWrite = (request: AdmissionRequest): boolean =>
  request.subresource === '' && templateOf(request) !== undefined;

/** Other subresources do not change what a pod may do. */
const isPodWrite = (request: AdmissionRequest): boolean =>
  isCore(request, 'pods') && ['', 'ephemeralcontainers'].includes(request.subresource);

function checkPod(request: AdmissionRequest, policy: PodSecurityPolicy): void {
  if (request.object === undefined) return;
  const pod = asPod(request.object);
  if (request.old !== undefined && !mayMatter(pod, asPod(request.old))) return;
  request.audit?.annotate(`${ANNOTATIONS}/enforce-policy`, printLevel(policy.enforce));
  noteAudit(request, pod, policy);
  const found = violations(pod, policy.enforce);
  if (found.length > 0) {
    const why = `violates PodSecurity "${printLevel(policy.enforce)}": ${detailsText(found)}`;
    throw forbiddenError(subjectOfRequest(request), why);
  }
  warn(request, pod, policy);
}

function warnOfTemplate(request: AdmissionRequest, policy: PodSecurityPolicy): void {
  const { metadata, spec } = templateOf(request)?.template ?? {};
  if (spec === undefined) return;
  const shape: PodShape = { metadata, spec };
  noteAudit(request, shape, policy);
  warn(request, shape, policy);
}

/** Prefix of the annotations in audit events. */
const ANNOTATIONS = 'pod-security.kubernetes.io';

/** Only for audited requests: nothing else reads it. */
function noteAudit({ audit }: AdmissionRequest, shape: PodShape, policy: PodSecurityPolicy): void {
  const found = audit === undefined ? [] : violations(shape, policy.audit);
  if (found.length === 0) return;
  const why = `would violate PodSecurity "${printLevel(policy.audit)}": ${detailsText(found)}`;
  audit?.annotate(`${ANNOTATIONS}/audit-violations`, why);
}

function warn(request: AdmissionRequest, shape: PodShape, policy: PodSecurityPolicy): void {
  const found = violations(shape, policy.warn);
  if (found.length === 0) return;
  request.warn(`would violate PodSecurity "${printLevel(policy.warn)}": ${detailsText(found)}`);
}

/** An update of a pod can only affect the result through images and added containers. */
function mayMatter({ spec }: Pod, { spec: old }: Pod): boolean {
  const images = (of: Pod['spec']): readonly (string | undefined)[] =>
    [...of.containers, { image: '' }, ...(of.initContainers ?? [])].map(({ image }) => image);
  const attached = new Map((old.ephemeralContainers ?? []).map((each) => [each.name, each.image]));
  return (
    !deepEqual(images(spec), images(old)) ||
    (spec.ephemeralContainers ?? []).some((each) => attached.get(each.name) !== each.image)
  );
}

function checkNamespace(deps: AdmissionDeps, request: AdmissionRequest): void {
  const object = request.object as Namespace | undefined;
  const old = request.old as Namespace | undefined;
  const after = readPolicy(object?.metadata.labels);
  const before = readPolicy(old?.metadata.labels);
  if (after.errors.length > 0 && (old === undefined || !deepEqual(after.errors, before.errors))) {
    throw invalidObject({ group: '', kind: 'Namespace', name: request.name }, after.errors);
  }
  if (old === undefined || !needsLook(before.policy, after.policy)) return;
  const { enforce } = after.policy;
  for (const text of existingPodWarnings(request.name, deps.reader.list(PODS, request.name), enforce))
    request.warn(text);
}

/** Only a stricter rule can find something wrong with pods that were let in. */
function needsLook({ enforce: before }: PodSecurityPolicy, { enforce: after }: PodSecurityPolicy): boolean {
  if (after.level === 'privileged' || isSameLevel(before, after)) return false;
  return before.minor !== after.minor || isStricter(after.level, before.level);
}
