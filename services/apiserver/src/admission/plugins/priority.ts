import { type KubeObject, type Pod, PRIORITY_CLASSES, type PriorityClass } from '@holdfast/api';
import { forbiddenError, type StatusError } from '@holdfast/machinery';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asPod } from '../typed-objects.ts';

const DEFAULT_PRIORITY = 0;
const PREEMPT = 'PreemptLowerPriority';
const SYSTEM_CLASSES: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
]);

/** Gives a pod the number behind its priority class, and keeps one default class at most (PRIO-04..12). */
export const createPriority = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'Priority',
  handles: (request) => isPodWrite(request) || isClassChange(request),
  admit: (request) => {
    if (!isPodWrite(request) || request.object === undefined) return;
    if (request.old === undefined && deps.podPriority) resolve(deps, request, asPod(request.object));
    else if (request.old === undefined) refuseClass(request, asPod(request.object));
    else keep(asPod(request.object), asPod(request.old));
  },
  validate: (request) => {
    if (isClassChange(request) && request.object !== undefined) refuseSecondDefault(deps, request, request.object);
  },
});

const isPodWrite = (request: AdmissionRequest): boolean =>
  isCore(request, 'pods') && request.operation !== 'DELETE' && request.subresource === '';

const isClassChange = (request: AdmissionRequest): boolean =>
  request.definition.group === 'scheduling.k8s.io' &&
  request.definition.plural === 'priorityclasses' &&
  request.operation !== 'DELETE';

/** A client that replaces a pod with its original manifest does not know the computed priority. */
function keep({ spec }: Pod, { spec: old }: Pod): void {
  if (spec === undefined || old === undefined) return;
  if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
  if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined) {
    spec.preemptionPolicy = old.preemptionPolicy;
  }
}

/** Without priorities a class would have no effect (PRIO-14). */
function refuseClass(request: AdmissionRequest, { spec }: Pod): void {
  if ((spec?.priorityClassName ?? '') === '') return;
  throw refuse(request, 'spec.priorityClassName: priorities are off in this cluster (feature gate PodPriority)');
}

interface Computed {
  readonly className: string;
  readonly priority: number;
  readonly policy: string;
}

function resolve(deps: AdmissionDeps, request: AdmissionRequest, pod: Pod): void {
  const { spec } = pod;
  if (spec === undefined) return;
  const { className, priority, policy } = compute(deps, request, spec.priorityClassName ?? '');
  if (spec.priority !== undefined && spec.priority !== priority) {
    throw refuse(
      request,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    throw refuse(
      request,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  }
  if (className !== '') spec.priorityClassName = className;
  spec.priority = priority;
  spec.preemptionPolicy = policy;
}

function compute(deps: AdmissionDeps, request: AdmissionRequest, className: string): Computed {
  if (className === '') {
    const fallback = defaultClass(deps);
    return fallback === undefined
      ? { className: '', priority: DEFAULT_PRIORITY, policy: PREEMPT }
      : computedFrom(fallback);
  }
  const found = deps.reader.cached(PRIORITY_CLASSES, { name: className });
  if (found !== undefined) return computedFrom(found);
  const system = SYSTEM_CLASSES.get(className);
  if (system !== undefined) return { className, priority: system, policy: PREEMPT };
  throw refuse(request, `no PriorityClass with name ${className} was found`);
}

const computedFrom = (each: PriorityClass): Computed => ({
  className: each.metadata.name ?? '',
  priority: each.value,
  policy: each.preemptionPolicy ?? PREEMPT,
});

/** PRIO-04: when a race left two defaults, the lower value counts. */
function defaultClass(deps: AdmissionDeps): PriorityClass | undefined {
  let found: PriorityClass | undefined;
  for (const each of deps.reader.list(PRIORITY_CLASSES)) {
    if (each.globalDefault === true && (found === undefined || each.value < found.value)) found = each;
  }
  return found;
}

function refuseSecondDefault(deps: AdmissionDeps, request: AdmissionRequest, object: KubeObject): void {
  const wanted = object as PriorityClass;
  if (wanted.globalDefault !== true) return;
  const other = defaultClass(deps);
  if (other === undefined || other.metadata.name === request.name) return;
  throw refuse(
    request,
    `PriorityClass ${other.metadata.name ?? ''} is already marked as default. Only one default can exist`,
  );
}

const refuse = (request: AdmissionRequest, why: string): StatusError => forbiddenError(subjectOfRequest(request), why);
