import {
  type Container,
  LIMIT_RANGES,
  type LimitRange,
  type LimitRangeItem,
  type PersistentVolumeClaim,
  type Pod,
  podLimits,
  podRequests,
} from '@holdfast/api';
import { forbiddenError } from '@holdfast/machinery';
import { type Amounts, bounded, requestBounded } from '../limit-constraints.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asPod } from '../typed-objects.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';

/** A namespace's limit ranges give containers what they do not ask for, and bound what they do. */
export const createLimitRanger = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'LimitRanger',
  handles: (request) =>
    request.subresource === '' &&
    (isPodCreation(request) || (isCore(request, 'persistentvolumeclaims') && request.operation !== 'DELETE')),
  admit: (request) => {
    if (request.object === undefined || !isPodCreation(request)) return;
    for (const range of rangesOf(deps, request)) addDefaults(asPod(request.object), range);
  },
  validate: (request) => {
    for (const range of rangesOf(deps, request)) {
      const problems = [...new Set(itemsOf(range).flatMap((item) => problemsOf(request, item)))];
      if (problems.length === 0) continue;
      const why = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
      throw forbiddenError(subjectOfRequest(request), why ?? '');
    }
  },
});

const isPodCreation = (request: AdmissionRequest): boolean => isCore(request, 'pods') && request.operation === 'CREATE';

const rangesOf = (deps: AdmissionDeps, request: AdmissionRequest): readonly LimitRange[] =>
  deps.reader.list(LIMIT_RANGES, request.namespace);

const itemsOf = (range: LimitRange): readonly LimitRangeItem[] => range.spec?.limits ?? [];

/** An annotation records the added values, so that the pod's author can see their origin. */
function addDefaults(pod: Pod, range: LimitRange): void {
  const items = itemsOf(range).filter(({ type }) => type === 'Container');
  const limits: Amounts = joined(items.map((item) => item.default));
  const requests: Amounts = joined(items.map((item) => item.defaultRequest));
  const notes = [
    ...pod.spec.containers.flatMap((each) => complete(each, 'container', { requests, limits })),
    ...(pod.spec.initContainers ?? []).flatMap((each) => complete(each, 'init container', { requests, limits })),
  ];
  if (notes.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
}

/** When two items set one resource, the later one counts. */
const joined = (amounts: readonly (Amounts | undefined)[]): Amounts =>
  Object.fromEntries(amounts.flatMap((each) => Object.entries(each ?? {})));

type Defaults = Readonly<Record<'requests' | 'limits', Amounts>>;

function complete(container: Container, what: string, defaults: Defaults): readonly string[] {
  const resources = (container.resources ??= {});
  return (['requests', 'limits'] as const).flatMap((list) => {
    const own = resources[list] ?? {};
    const added = Object.keys(defaults[list])
      .filter((name) => !Object.hasOwn(own, name))
      .sort();
    if (added.length === 0) return [];
    resources[list] = { ...defaults[list], ...own };
    return [`${added.join(', ')} ${list.slice(0, -1)} for ${what} ${container.name}`];
  });
}

function problemsOf(request: AdmissionRequest, item: LimitRangeItem): readonly string[] {
  if (request.object === undefined) return [];
  if (!isCore(request, 'pods')) {
    const { spec } = request.object as PersistentVolumeClaim;
    return item.type === 'PersistentVolumeClaim' ? requestBounded(item, spec?.resources?.requests ?? {}) : [];
  }
  const pod = asPod(request.object);
  if (item.type === 'Pod') {
    const { overhead: _besides, ...spec } = pod.spec;
    const own = { ...pod, spec };
    return bounded(item, podRequests(own), podLimits(own));
  }
  if (item.type !== 'Container') return [];
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap(({ resources }) =>
    bounded(item, resources?.requests ?? {}, resources?.limits ?? {}),
  );
}
