import type { Container } from '@holdfast/api';
import { formatQuantity, ownValue, parseQuantity, quantityOfUnits, value } from '@holdfast/machinery';
import type { ContainerSample, PodSample } from '../stats/port.ts';
import type { Relief } from './decide.ts';
import { SIGNALS } from './signals.ts';
import { limitOf } from './thresholds.ts';

export interface EvictionText {
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Why this pod, in Kubernetes' words: clients and operators search for them. */
export function evictionText({ threshold, measure }: Relief, pod: PodSample): EvictionText {
  const { resource } = SIGNALS[threshold.signal];
  const isBytes = resource === 'memory' || resource === 'ephemeral-storage';
  const print = (amount: number): string => formatQuantity(quantityOfUnits(amount, isBytes ? 'BinarySI' : 'DecimalSI'));
  const limit =
    threshold.limit.kind === 'amount' ? threshold.limit.text : print(limitOf(threshold.limit, measure.capacity));
  let message = `The node was low on resource: ${resource}. Threshold quantity: ${limit}, available: ${kibibytes(measure.available, isBytes)}. `;
  const offenders: string[] = [];
  const usages: string[] = [];
  for (const container of pod.pod.spec.containers) {
    const sample = pod.containers.find(({ name }) => name === container.name);
    const used = sample === undefined || !isBytes ? undefined : usedBy(sample, resource);
    if (used === undefined || used <= requestOf(container, resource)) continue;
    const request = ownValue(container.resources?.requests, resource) ?? '0';
    const usage = kibibytes(used, true);
    message += `Container ${container.name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
    offenders.push(container.name);
    usages.push(usage);
  }
  return {
    message,
    annotations: {
      starved_resource: resource,
      ...(offenders.length === 0
        ? {}
        : { offending_containers: offenders.join(','), offending_containers_usage: usages.join(',') }),
    },
  };
}

function usedBy({ memoryBytes, logs }: ContainerSample, resource: string): number | undefined {
  return resource === 'memory' ? memoryBytes : logs?.bytes;
}

function requestOf(container: Container, resource: string): number {
  const text = ownValue(container.resources?.requests, resource);
  return text === undefined ? 0 : value(parseQuantity(text));
}

/** Whole KiB, as the sources of such numbers count. */
function kibibytes(amount: number, isBytes: boolean): string {
  if (!isBytes) return String(amount);
  return amount < 1024 ? String(amount) : `${Math.floor(amount / 1024)}Ki`;
}
