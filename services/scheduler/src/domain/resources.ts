import { type Container, isSidecar, type Pod } from '@holdfast/api';
import { milliValue, parseQuantity, value } from '@holdfast/machinery';

/** Amounts by resource name: `cpu` in millicores, all others in whole units (bytes, devices). */
export type Amounts = ReadonlyMap<string, number>;

/** Scoring assumes this for a container without requests, so that such pods spread, too. */
const UNREQUESTED: Amounts = new Map([
  ['cpu', 100],
  ['memory', 200 * 1024 * 1024],
]);

export function parseAmounts(quantities: Readonly<Record<string, string>> | undefined): Amounts {
  const amounts = new Map<string, number>();
  for (const [name, text] of Object.entries(quantities ?? {})) amounts.set(name, parseAmount(name, text));
  return amounts;
}

/** Returns the effective requests of a pod: what must be free on its node. */
export function podRequests(pod: Pod): Amounts {
  return effective(pod, (container) => parseAmounts(container.resources?.requests));
}

/** The same with assumed values for containers without cpu or memory requests. Only for scoring. */
export function podRequestsForScoring(pod: Pod): Amounts {
  return effective(pod, (container) => new Map([...UNREQUESTED, ...parseAmounts(container.resources?.requests)]));
}

/**
 * Returns the maximum of the final state (containers and sidecars) and of every init step (that step plus the sidecars
 * started before it), plus the pod's overhead.
 */
function effective(pod: Pod, requestsOf: (container: Container) => Amounts): Amounts {
  const running = new Map<string, number>();
  for (const container of pod.spec.containers) addTo(running, requestsOf(container));
  const sidecars = new Map<string, number>();
  const init = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    const step = new Map(requestsOf(container));
    if (isSidecar(container)) {
      addTo(running, step);
      addTo(sidecars, step);
      raiseTo(init, sidecars);
    } else {
      addTo(step, sidecars);
      raiseTo(init, step);
    }
  }
  raiseTo(running, init);
  addTo(running, parseAmounts(pod.spec.overhead));
  return running;
}

export function addTo(sum: Map<string, number>, amounts: Amounts, times: 1 | -1 = 1): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + times * amount);
}

function raiseTo(highest: Map<string, number>, amounts: Amounts): void {
  for (const [name, amount] of amounts) highest.set(name, Math.max(highest.get(name) ?? 0, amount));
}

function parseAmount(name: string, text: string): number {
  const quantity = parseQuantity(text);
  return name === 'cpu' ? milliValue(quantity) : value(quantity);
}
