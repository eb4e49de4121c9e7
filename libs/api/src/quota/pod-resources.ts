import type { Container, Pod } from '../generated/types.ts';
import { isSidecar } from '../semantics/pods.ts';
import { type Amounts, addAmounts, maxAmounts } from './amounts.ts';

/** Returns the requests of a whole pod, including runtime overhead. */
export function podRequests({ spec }: Readonly<Pod>): Amounts {
  return addAmounts(heaviestMoment(spec, 'requests'), spec.overhead ?? {});
}

/** Returns the limits of a whole pod. Overhead raises a limit but does not create one. */
export function podLimits({ spec }: Readonly<Pod>): Amounts {
  const limits = heaviestMoment(spec, 'limits');
  const raised = Object.entries(spec.overhead ?? {}).filter(([name]) => Object.hasOwn(limits, name));
  return addAmounts(limits, Object.fromEntries(raised));
}

/** Containers run together with sidecars; each other init container runs alone with the sidecars before it. */
function heaviestMoment(spec: Readonly<Pod['spec']>, of: 'requests' | 'limits'): Amounts {
  let running: Amounts = {};
  for (const container of spec.containers) running = addAmounts(running, amountsOf(container, of));
  let sidecars: Amounts = {};
  let starting: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container, of);
    const isBeside = isSidecar(container);
    if (isBeside) running = addAmounts(running, own);
    const moment = addAmounts(sidecars, own);
    if (isBeside) sidecars = moment;
    starting = maxAmounts(starting, moment);
  }
  return maxAmounts(running, starting);
}

const amountsOf = ({ resources }: Readonly<Container>, of: 'requests' | 'limits'): Amounts => resources?.[of] ?? {};
