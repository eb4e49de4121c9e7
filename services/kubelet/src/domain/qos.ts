import type { Pod } from '@holdfast/api';
import { ownValue, parseQuantity } from '@holdfast/machinery';

/** The apiserver sets it at creation; this answers for objects that came without. */
export function qosClass(pod: Pod): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  let anything = false;
  let guaranteed = true;
  for (const { resources } of containers) {
    for (const name of ['cpu', 'memory']) {
      const limit = nonZero(ownValue(resources?.limits, name));
      const request = nonZero(ownValue(resources?.requests, name)) ?? limit;
      if (limit !== undefined || request !== undefined) anything = true;
      if (limit === undefined || request !== limit) guaranteed = false;
    }
  }
  if (!anything) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

function nonZero(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  const { nano } = parseQuantity(text);
  return nano === 0n ? undefined : nano;
}
