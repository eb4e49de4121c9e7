import { type Container, LIMIT_RANGES, type LimitRange, type LimitRangeItem, type Pod } from '@holdfast/api';
import {
  addQuantities,
  compareQuantities,
  forbiddenError,
  formatQuantity,
  parseQuantity,
  type Quantity,
} from '@holdfast/machinery';
import { decodePod } from '../decode.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';

type Amounts = Readonly<Record<string, string>>;

/** A namespace's limit ranges give containers what they do not ask for, and bound what they do. */
export const createLimitRanger = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'LimitRanger',
  handles: (request) => isCore(request, 'pods') && request.operation === 'CREATE' && request.subresource === '',
  admit: (request) => {
    if (request.object === undefined) return;
    for (const range of rangesOf(deps, request)) addDefaults(decodePod(request.object), range);
  },
  validate: (request) => {
    if (request.object === undefined) return;
    const pod = decodePod(request.object);
    const problems = rangesOf(deps, request).flatMap((range) =>
      itemsOf(range).flatMap((item) => problemsOf(pod, item)),
    );
    if (problems.length === 0) return;
    const why = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
    throw forbiddenError(subjectOfRequest(request), why ?? '');
  },
});

const rangesOf = (deps: AdmissionDeps, request: AdmissionRequest): readonly LimitRange[] =>
  deps.reader.list(LIMIT_RANGES, request.namespace);

const itemsOf = (range: LimitRange): readonly LimitRangeItem[] => range.spec?.limits ?? [];

const containersOf = (pod: Pod): readonly Container[] => [
  ...(pod.spec?.initContainers ?? []),
  ...(pod.spec?.containers ?? []),
];

function addDefaults(pod: Pod, range: LimitRange): void {
  for (const item of itemsOf(range).filter((each) => each.type === 'Container')) {
    for (const container of containersOf(pod)) {
      const resources = (container.resources ??= {});
      const limits = { ...item.default, ...resources.limits };
      const requests = { ...item.defaultRequest, ...resources.requests };
      // What a container limits itself to is also what it asks for, unless it says less.
      for (const [name, amount] of Object.entries(resources.limits ?? {})) {
        if (resources.requests?.[name] === undefined) requests[name] = amount;
      }
      if (Object.keys(limits).length > 0) resources.limits = limits;
      if (Object.keys(requests).length > 0) resources.requests = requests;
    }
  }
}

function problemsOf(pod: Pod, item: LimitRangeItem): readonly string[] {
  switch (item.type) {
    case 'Container':
      return containersOf(pod).flatMap(({ resources }) =>
        boundsBroken(item, resources?.requests ?? {}, resources?.limits ?? {}),
      );
    case 'Pod':
      return boundsBroken(item, total(pod, 'requests'), total(pod, 'limits'));
    default:
      return [];
  }
}

function boundsBroken(item: LimitRangeItem, requests: Amounts, limits: Amounts): readonly string[] {
  const problems: string[] = [];
  for (const [name, min] of Object.entries(item.min ?? {})) {
    const request = requests[name];
    const head = `minimum ${name} usage per ${item.type} is ${min}`;
    if (request === undefined) problems.push(`${head}. No request is specified`);
    else if (isLess(request, min)) problems.push(`${head}, but request is ${request}`);
  }
  for (const [name, max] of Object.entries(item.max ?? {})) {
    const limit = limits[name];
    const head = `maximum ${name} usage per ${item.type} is ${max}`;
    if (limit === undefined) problems.push(`${head}. No limit is specified`);
    else if (isLess(max, limit)) problems.push(`${head}, but limit is ${limit}`);
  }
  return problems;
}

const isLess = (a: string, b: string): boolean => compareQuantities(parseQuantity(a), parseQuantity(b)) < 0;

/** Containers run together; init containers before them one by one, so of those only the largest counts. */
function total(pod: Pod, of: 'requests' | 'limits'): Amounts {
  const sums = new Map<string, Quantity>();
  for (const { resources } of pod.spec?.containers ?? []) {
    for (const [name, amount] of Object.entries(resources?.[of] ?? {})) {
      const sum = sums.get(name);
      sums.set(name, sum === undefined ? parseQuantity(amount) : addQuantities(sum, parseQuantity(amount)));
    }
  }
  for (const { resources } of pod.spec?.initContainers ?? []) {
    for (const [name, amount] of Object.entries(resources?.[of] ?? {})) {
      const sum = sums.get(name);
      const own = parseQuantity(amount);
      if (sum === undefined || compareQuantities(sum, own) < 0) sums.set(name, own);
    }
  }
  return Object.fromEntries([...sums].map(([name, sum]) => [name, formatQuantity(sum)]));
}
