import { docker, inNetworkOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { serviceOf } from '../support/compose-form.ts';
import type { End } from './users.ts';

export const containerOf = (cluster: ComposeCluster, target: string): string => cluster.containerOf(serviceOf(target));

/** SIGKILL of all of them at once; they start again at the end. */
export async function kill(...containers: readonly string[]): Promise<End> {
  await docker('kill', '--signal', 'KILL', ...containers);
  return () => docker('start', ...containers);
}

/** In front of the rules that are there, in this order. */
export async function addRules(container: string, rules: readonly (readonly string[])[]): Promise<End> {
  for (const rule of rules.toReversed()) await inNetworkOf(container, ['iptables', '--insert', ...rule]);
  return async () => {
    for (const rule of rules) await inNetworkOf(container, ['iptables', '--delete', ...rule]);
  };
}
