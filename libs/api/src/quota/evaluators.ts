import { compareQuantities, parseQuantity } from '@holdfast/machinery';
import type { PersistentVolumeClaim, Pod, ScopedResourceSelectorRequirement, Service } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { storageClassOf } from '../semantics/storage.ts';
import type { Amounts } from './amounts.ts';
import { countsPods, podIsInScope, podUsage, unspecified } from './pod-usage.ts';

/** How the objects of one kind consume quota. */
export interface QuotaEvaluator {
  /** True for operations that can increase usage: create for every kind, update for some. */
  readonly handles: (operation: 'CREATE' | 'UPDATE' | 'DELETE') => boolean;
  /** True when a resource name of a quota counts objects of this kind. */
  readonly counts: (name: string) => boolean;
  readonly usage: (object: Readonly<KubeObject>, now: number) => Amounts;
  /** Returns why an object cannot be counted: it does not specify its amounts. */
  readonly unspecified: (object: Readonly<KubeObject>, counted: readonly string[]) => string | undefined;
  readonly isInScope: (selector: Readonly<ScopedResourceSelectorRequirement>, object: Readonly<KubeObject>) => boolean;
}

/** Older count names that Kubernetes keeps beside `count/...`. */
const ALIASES: ReadonlySet<string> = new Set(['configmaps', 'replicationcontrollers', 'resourcequotas', 'secrets']);

/** Too frequent to count, and they expire by themselves. */
const NEVER_COUNTED: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io', 'bindings']);

/** Returns nothing for kinds that quotas do not count. */
export function quotaEvaluatorFor(group: string, plural: string): QuotaEvaluator | undefined {
  const resource = group === '' ? plural : `${plural}.${group}`;
  if (NEVER_COUNTED.has(resource)) return undefined;
  const known = EVALUATORS.get(resource);
  if (known !== undefined) return known;
  const evaluator = evaluatorOf(resource);
  EVALUATORS.set(resource, evaluator);
  return evaluator;
}

/** Cached per kind: there are few kinds and many writes. */
const EVALUATORS = new Map<string, QuotaEvaluator>();

function evaluatorOf(resource: string): QuotaEvaluator {
  switch (resource) {
    case 'pods':
      return PODS;
    case 'services':
      return SERVICES;
    case 'persistentvolumeclaims':
      return CLAIMS;
    default:
      return objectCount(resource);
  }
}

const onCreate: QuotaEvaluator['handles'] = (operation) => operation === 'CREATE';
const onCreateAndUpdate: QuotaEvaluator['handles'] = (operation) => operation !== 'DELETE';
const UNSCOPED = { unspecified: () => undefined, isInScope: () => false } as const;

function objectCount(resource: string): QuotaEvaluator {
  const names = [`count/${resource}`, ...(ALIASES.has(resource) ? [resource] : [])];
  const one = Object.fromEntries(names.map((name) => [name, '1']));
  return { handles: onCreate, counts: (name) => names.includes(name), usage: () => one, ...UNSCOPED };
}

const PODS: QuotaEvaluator = {
  handles: onCreate,
  counts: countsPods,
  usage: (object, now) => podUsage(object as Pod, now),
  unspecified: (object, counted) => unspecified(object as Pod, counted),
  isInScope: (selector, object) => podIsInScope(selector, object as Pod),
};

const SERVICE_NAMES: ReadonlySet<string> = new Set([
  'count/services',
  'services',
  'services.loadbalancers',
  'services.nodeports',
]);

const SERVICES: QuotaEvaluator = {
  handles: onCreateAndUpdate,
  counts: (name) => SERVICE_NAMES.has(name),
  usage: (object) => serviceUsage(object as Service),
  ...UNSCOPED,
};

function serviceUsage({ spec }: Readonly<Service>): Amounts {
  const usage = { 'count/services': '1', services: '1' };
  const ports = spec.ports ?? [];
  const named = ports.filter((port) => (port.nodePort ?? 0) !== 0);
  switch (spec.type) {
    case 'NodePort':
      return { ...usage, 'services.nodeports': `${ports.length}`, 'services.loadbalancers': '0' };
    case 'LoadBalancer': {
      const counted = spec.allocateLoadBalancerNodePorts === false ? named : ports;
      return { ...usage, 'services.nodeports': `${counted.length}`, 'services.loadbalancers': '1' };
    }
    case undefined:
    default:
      return { ...usage, 'services.nodeports': '0', 'services.loadbalancers': '0' };
  }
}

const STORAGE = 'requests.storage';
const CLAIM_NAMES = ['persistentvolumeclaims', STORAGE];
const OF_CLASS = '.storageclass.storage.k8s.io/';

const CLAIMS: QuotaEvaluator = {
  handles: onCreateAndUpdate,
  counts: (name) =>
    name === 'count/persistentvolumeclaims' ||
    CLAIM_NAMES.some((own) => name === own || name.endsWith(`${OF_CLASS}${own}`)),
  usage: (object) => claimUsage(object as PersistentVolumeClaim),
  ...UNSCOPED,
};

function claimUsage(claim: Readonly<PersistentVolumeClaim>): Amounts {
  const storage = storageOf(claim);
  const own = { persistentvolumeclaims: '1', ...(storage === undefined ? {} : { [STORAGE]: storage }) };
  const storageClass = storageClassOf(claim);
  const ofClass = Object.entries(own).map(([name, amount]) => [`${storageClass}${OF_CLASS}${name}`, amount]);
  return {
    'count/persistentvolumeclaims': '1',
    ...own,
    ...(storageClass === '' ? {} : Object.fromEntries(ofClass)),
  };
}

/** A claim whose growth is reverted keeps what it was allocated meanwhile. */
function storageOf({ spec, status }: Readonly<PersistentVolumeClaim>): string | undefined {
  const requested = spec.resources?.requests?.['storage'];
  const allocated = status?.allocatedResources?.['storage'];
  if (requested === undefined || allocated === undefined) return requested;
  return compareQuantities(parseQuantity(allocated), parseQuantity(requested)) > 0 ? allocated : requested;
}
