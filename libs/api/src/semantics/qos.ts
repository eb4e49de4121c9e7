import {
  addQuantities,
  compareQuantities,
  ownValue,
  parseQuantity,
  type Quantity,
  ZERO_QUANTITY,
} from '@holdfast/machinery';
import type { Pod } from '../generated/types.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

type Amounts = Map<string, Quantity>;

/** Only these resources determine the class. */
const QOS_RESOURCES = ['cpu', 'memory'] as const;

export function qosClassOf(pod: Readonly<Pod>): QosClass {
  const requests: Amounts = new Map();
  const limits: Amounts = new Map();
  let everyContainerLimited = true;
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
    const own = container.resources ?? {};
    // Requests default to limits in a pod that the API did not default, such as a static one.
    addAmounts(requests, { ...own.limits, ...own.requests });
    const limited = addAmounts(limits, own.limits);
    if (limited < QOS_RESOURCES.length) everyContainerLimited = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  return everyContainerLimited && sameAmounts(requests, limits) ? 'Guaranteed' : 'Burstable';
}

/** Zero counts as unset. Returns the number of set resources. */
function addAmounts(sums: Amounts, list: Readonly<Record<string, string>> | undefined): number {
  let given = 0;
  for (const name of QOS_RESOURCES) {
    const text = ownValue(list, name);
    if (text === undefined) continue;
    const amount = parseQuantity(text);
    if (compareQuantities(amount, ZERO_QUANTITY) <= 0) continue;
    given += 1;
    sums.set(name, addQuantities(sums.get(name) ?? ZERO_QUANTITY, amount));
  }
  return given;
}

function sameAmounts(requests: Amounts, limits: Amounts): boolean {
  if (requests.size !== limits.size) return false;
  for (const [name, amount] of requests) {
    const limit = limits.get(name);
    if (limit === undefined || compareQuantities(limit, amount) !== 0) return false;
  }
  return true;
}
