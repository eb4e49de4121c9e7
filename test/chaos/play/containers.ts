import { changeRules, docker } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { busesOf, mastersOf, nodesOf, serviceOf, storesOf } from '../support/compose-form.ts';
import { Holds } from './holds.ts';
import type { End } from './users.ts';

export const containerOf = (cluster: ComposeCluster, target: string): string => cluster.containerOf(serviceOf(target));

const HOLDS = new Holds();

/**
 * SIGKILL of all of them at once; they start again at the end of the last step that holds them down. Throws when none of
 * them runs: nothing would happen.
 */
export async function kill(...containers: readonly string[]): Promise<End> {
  const running = await runningOf(containers);
  if (running.length === 0) throw new Error(`${containers.join(', ')} does not run`);
  const release = HOLDS.hold(containers);
  await docker('kill', '--signal', 'KILL', ...running).catch((error: unknown) => {
    if (NOT_RUNNING.test(String(error))) return;
    release();
    throw error;
  });
  return async () => {
    const free = release();
    if (free.length > 0) await docker('start', ...free);
  };
}

async function runningOf(containers: readonly string[]): Promise<readonly string[]> {
  const states = (await docker('inspect', '--format', '{{.State.Running}}', ...containers)).split('\n');
  return containers.filter((_, index) => states[index] === 'true');
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
