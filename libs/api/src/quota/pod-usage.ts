import { setOwn } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';
import type { Container, Pod, PodAffinityTerm, ScopedResourceSelectorRequirement } from '../generated/types.ts';
import { isFinishedPhase } from '../semantics/pods.ts';
import { qosClassOf } from '../semantics/qos.ts';
import { isExtendedResource, isHugePages, isNativeResource } from '../validation/resource-names.ts';
import { type Amounts, addAmounts } from './amounts.ts';
import { podLimits, podRequests } from './pod-resources.ts';

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'] as const;
const REQUESTS = 'requests.';
const LIMITS = 'limits.';

const POD_RESOURCES: ReadonlySet<string> = new Set([
  'count/pods',
  'pods',
  ...COMPUTE.flatMap((name) => [name, `${REQUESTS}${name}`, `${LIMITS}${name}`]),
]);

/** True for resource names that pods consume. Extended resources count only by requests. */
export function countsPods(name: string): boolean {
  if (POD_RESOURCES.has(name)) return true;
  if (isHugePages(name) || name.startsWith(`${REQUESTS}hugepages-`)) return true;
  return !isNativeResource(name) && name.startsWith(REQUESTS);
}

/** A finished pod is still an object but uses nothing else. */
export function podUsage(pod: Readonly<Pod>, now: number): Amounts {
  const object = { 'count/pods': '1' };
  if (!isCharged(pod, now)) return object;
  return { ...object, ...usageBy(podRequests(pod), podLimits(pod)) };
}

/** True when the pod's requests are charged. A pod far beyond its deletion deadline is not. */
export function isCharged({ metadata, status }: Readonly<Pod>, now: number): boolean {
  if (isFinishedPhase(status?.phase)) return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  const deadline = parseTime(deletionTimestamp);
  return deadline === undefined || now <= deadline + deletionGracePeriodSeconds * 1000;
}

function usageBy(requests: Amounts, limits: Amounts): Amounts {
  const usage: Record<string, string> = { pods: '1' };
  for (const [name, amount] of Object.entries(requests)) {
    if (isCompute(name) || isHugePages(name)) setOwn(usage, name, amount);
    if (isCompute(name) || isHugePages(name) || isExtendedResource(name)) setOwn(usage, `${REQUESTS}${name}`, amount);
  }
  for (const [name, amount] of Object.entries(limits)) if (isCompute(name)) setOwn(usage, `${LIMITS}${name}`, amount);
  return usage;
}

const isCompute = (name: string): boolean => (COMPUTE as readonly string[]).includes(name);

/** A quota on these resources requires every container to specify them. */
const MUST_BE_SAID: ReadonlySet<string> = new Set(
  ['cpu', 'memory'].flatMap((name) => [name, `${REQUESTS}${name}`, `${LIMITS}${name}`]),
);

/** `must specify limits.cpu for: a,b; ...`, or nothing when everything is specified. */
export function unspecified({ spec }: Readonly<Pod>, counted: readonly string[]): string | undefined {
  const missing = counted
    .filter((name) => MUST_BE_SAID.has(name))
    .sort()
    .flatMap((name) => {
      const silent = [...spec.containers, ...(spec.initContainers ?? [])].filter((each) => !says(each, name));
      const names = [...new Set(silent.map((each) => each.name))].sort();
      return names.length === 0 ? [] : [`${name} for: ${names.join(',')}`];
    });
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`;
}

const says = ({ resources }: Readonly<Container>, name: string): boolean =>
  Object.hasOwn(usageBy(resources?.requests ?? {}, resources?.limits ?? {}), name);

export function podIsInScope(selector: Readonly<ScopedResourceSelectorRequirement>, pod: Readonly<Pod>): boolean {
  switch (selector.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return qosClassOf(pod) === 'BestEffort';
    case 'NotBestEffort':
      return qosClassOf(pod) !== 'BestEffort';
    case 'PriorityClass':
      return isOfClass(selector, pod.spec.priorityClassName ?? '');
    case 'CrossNamespacePodAffinity':
      return looksIntoOtherNamespaces(pod);
    default:
      return false;
  }
}

const isTerminating = ({ spec }: Readonly<Pod>): boolean => (spec.activeDeadlineSeconds ?? -1) >= 0;

function isOfClass({ operator, values = [] }: Readonly<ScopedResourceSelectorRequirement>, name: string): boolean {
  switch (operator) {
    case 'Exists':
      return name !== '';
    case 'DoesNotExist':
      return name === '';
    case 'In':
      return name !== '' && values.includes(name);
    case 'NotIn':
      return !values.includes(name);
    default:
      return false;
  }
}

function looksIntoOtherNamespaces({ spec }: Readonly<Pod>): boolean {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  return [podAffinity, podAntiAffinity].some((affinity) =>
    [
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((each) => each.podAffinityTerm),
    ].some(namesNamespaces),
  );
}

const namesNamespaces = ({ namespaces, namespaceSelector }: Readonly<PodAffinityTerm>): boolean =>
  (namespaces ?? []).length > 0 || namespaceSelector !== undefined;

/** Sums many objects. */
export const sumOf = (usages: Iterable<Amounts>): Amounts => {
  let sum: Amounts = {};
  for (const usage of usages) sum = addAmounts(sum, usage);
  return sum;
};
