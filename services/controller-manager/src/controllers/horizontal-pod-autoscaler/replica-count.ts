import { type Pod, sidecarsOf } from '@holdfast/api';
import { milliValue, ownValue, parseQuantity } from '@holdfast/machinery';
import { nameOf } from '../../common/meta.ts';
import type { PodUsage } from './metrics-source.ts';
import { groupPods, type PodGroups, type Sample } from './pod-groups.ts';
import type { AutoscalingSettings } from './settings.ts';

/** Why no number can be computed; the user gets the message. */
export class MetricError extends Error {}

export interface Measured {
  readonly pods: readonly Pod[];
  readonly usage: readonly PodUsage[];
  readonly currentReplicas: number;
  readonly now: number;
  readonly settings: AutoscalingSettings;
}

export interface ResourceTarget {
  readonly resource: string;
  /** Absent: the whole pod. */
  readonly container?: string | undefined;
  /** Percent of the requests, or thousandths per pod. */
  readonly wanted: { readonly utilization: number } | { readonly averageMilli: number };
}

export interface Proposal {
  readonly replicas: number;
  readonly averageMilli: number;
  readonly utilization?: number;
}

type Samples = Map<string, Sample>;
type Values = ReadonlyMap<string, number>;

/** Computes how many pods would bring the measured value to its target. */
export function proposeReplicas(measured: Measured, target: ResourceTarget): Proposal {
  const samples = samplesOf(measured.usage, target);
  const { pods, currentReplicas, settings } = measured;
  if (pods.length === 0) {
    const first = 'utilization' in target.wanted ? 'No' : 'no';
    throw new MetricError(`${first} pods returned by selector while calculating replica count`);
  }
  const groups = groupPods(pods, samples, { ...measured, resource: target.resource });
  const values = valuesOf(samples, groups, pods);
  if (values.size === 0) throw new MetricError('did not receive metrics for targeted pods (pods might be unready)');
  const yardstick = yardstickFor(target, pods);
  const { ratio, ...told } = yardstick.measure(values);
  const same = { ...told, replicas: currentReplicas };
  const startsAreAwaited = groups.unready.length > 0 && ratio > 1;
  if (!startsAreAwaited && groups.missing.length === 0) {
    return isClose(ratio, settings) ? same : { ...told, replicas: Math.ceil(ratio * groups.ready.length) };
  }
  const assumed = new Map(values);
  for (const name of groups.missing) {
    if (ratio < 1) assumed.set(name, yardstick.full(name));
    else if (ratio > 1 || !yardstick.isRelative) assumed.set(name, 0);
  }
  if (startsAreAwaited) for (const name of groups.unready) assumed.set(name, 0);
  const cautious = yardstick.measure(assumed).ratio;
  const turned = (ratio < 1 && cautious > 1) || (ratio > 1 && cautious < 1);
  if (isClose(cautious, settings) || turned) return same;
  const replicas = Math.ceil(cautious * assumed.size);
  const opposite = (cautious < 1 && replicas > currentReplicas) || (cautious > 1 && replicas < currentReplicas);
  return opposite ? same : { ...told, replicas };
}

/** Values of the pods that count, and of pods that the pod cache does not know yet. */
function valuesOf(samples: Samples, { ready }: PodGroups, pods: readonly Pod[]): Values {
  const counted = new Set(ready);
  const known = new Set(pods.map(nameOf));
  return new Map(
    [...samples].filter(([name]) => counted.has(name) || !known.has(name)).map(([name, { value }]) => [name, value]),
  );
}

const isClose = (ratio: number, { tolerance }: AutoscalingSettings): boolean => Math.abs(1 - ratio) <= tolerance;

interface Reading {
  readonly ratio: number;
  readonly averageMilli: number;
  readonly utilization?: number;
}

/** The reference for values. A pod without a measurement counts against a change: as `full` or as zero. */
interface Yardstick {
  readonly isRelative: boolean;
  readonly measure: (values: Values) => Reading;
  /** The assumed usage of a pod without a measurement when there may be too many pods. */
  readonly full: (pod: string) => number;
}

function yardstickFor({ wanted, ...target }: ResourceTarget, pods: readonly Pod[]): Yardstick {
  if ('averageMilli' in wanted) {
    const measure = (values: Values): Reading => {
      const averageMilli = ratioOf(sum(values.values()), values.size);
      return { ratio: averageMilli / wanted.averageMilli, averageMilli };
    };
    return { isRelative: false, measure, full: () => wanted.averageMilli };
  }
  const requests = requestsOf(pods, target);
  const assumed = Math.max(100, wanted.utilization);
  const measure = (values: Values): Reading => {
    const known = [...values].filter(([name]) => requests.has(name));
    const asked = sum(known.map(([name]) => requests.get(name) ?? 0));
    if (asked === 0) throw new MetricError('no metrics returned matched known pods');
    const used = sum(known.map(([, value]) => value));
    const utilization = Number((BigInt(used) * 100n) / BigInt(asked));
    return { ratio: utilization / wanted.utilization, averageMilli: ratioOf(used, known.length), utilization };
  };
  return { isRelative: true, measure, full: (name) => ratioOf((requests.get(name) ?? 0) * assumed, 100) };
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, each) => total + each, 0);

/** Integer division, as in Kubernetes. */
const ratioOf = (amount: number, by: number): number => Number(BigInt(amount) / BigInt(by));

function requestsOf(
  pods: readonly Pod[],
  { resource, container }: Pick<ResourceTarget, 'resource' | 'container'>,
): ReadonlyMap<string, number> {
  return new Map(
    pods.map((pod) => {
      const sidecars = sidecarsOf(pod.spec);
      const asked = [...pod.spec.containers, ...sidecars]
        .filter(({ name }) => container === undefined || name === container)
        .map(({ name, resources }) => {
          const request = ownValue(resources?.requests, resource);
          if (request !== undefined) return milliValue(parseQuantity(request));
          throw new MetricError(`missing request for ${resource} in container ${name} of Pod ${nameOf(pod)}`);
        });
      return [nameOf(pod), sum(asked)];
    }),
  );
}

/** A pod of which one container was not measured would look like a small one. */
function samplesOf(usage: readonly PodUsage[], { resource, container }: ResourceTarget): Samples {
  const why = `unable to get metrics for resource ${resource}`;
  if (usage.length === 0) throw new MetricError(`${why}: no metrics returned from resource metrics API`);
  const samples: Samples = new Map();
  for (const { pod, takenAtMs, windowMs, containers } of usage) {
    const chosen = containers.filter(({ name }) => container === undefined || name === container);
    if (container !== undefined && chosen.length === 0) {
      const lack = `container ${container} not present in metrics for pod ${pod}`;
      throw new MetricError(`${why}: failed to get container metrics: ${lack}`);
    }
    const values = chosen.flatMap((each) => ownValue(each.usage, resource) ?? []);
    if (values.length === chosen.length) samples.set(pod, { value: sum(values), takenAtMs, windowMs });
  }
  return samples;
}
