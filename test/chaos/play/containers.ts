import { changeRules, docker } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { busesOf, mastersOf, nodesOf, serviceOf, storesOf } from '../support/compose-form.ts';
import type { End } from './users.ts';

export const containerOf = (cluster: ComposeCluster, target: string): string => cluster.containerOf(serviceOf(target));

/** SIGKILL of all of them at once; they start again at the end. One that another step has ended is left as it is. */
export async function kill(...containers: readonly string[]): Promise<End> {
  await docker('kill', '--signal', 'KILL', ...containers).catch((error: unknown) => {
    if (!NOT_RUNNING.test(String(error))) throw error;
  });
  return () => docker('start', ...containers);
}

const NOT_RUNNING = /is not running/;

/** What still lies down after the last step is started, as an operator would. */
export async function startAll(cluster: ComposeCluster): Promise<void> {
  const { form } = cluster;
  const services = new Set([...storesOf(form), ...busesOf(form), ...mastersOf(form), ...nodesOf(form)]);
  await docker('start', ...[...services].map((service) => cluster.containerOf(service)));
}

/** In front of the rules that are there, in this order. */
export async function addRules(container: string, rules: readonly (readonly string[])[]): Promise<End> {
  await changeRules(container, '--insert', rules);
  return () => changeRules(container, '--delete', rules);
}
