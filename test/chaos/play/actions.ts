import type { ApiClient } from '@holdfast/client';
import { invariant } from '@holdfast/platform';
import type { Scenario } from '../../scenario/model.ts';
import type { FaultKind, StepKind } from '../../sim/hunt/kinds.ts';
import type { Step } from '../../sim/hunt/plan.ts';
import { addressesOf, docker, NodeFaults, readProc } from '../losses/faults.ts';
import type { LossKind } from '../losses/plan.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { busesOf, mastersOf, storesOf } from '../support/compose-form.ts';
import { addRules, containerOf, kill } from './containers.ts';
import { detourToApi, detourToStore } from './detour.ts';
import { LINK_FAULTS } from './links.ts';
import { STORE_FAULTS } from './store-faults.ts';
import { SURROUNDINGS } from './surroundings.ts';
import { type Begin, type End, findPod, podsOf, USER_ACTIONS } from './users.ts';
import { leaderOfLog, ZONE_FAULTS } from './zone-faults.ts';

/** Faults that a container form has; `CONTAINER_REFUSALS` says why not for the others. */
const FAULT_ACTIONS: Readonly<Partial<Record<FaultKind, Begin>>> = {
  isolate: (cluster, step) => loseNode(cluster, step, 'isolate'),
  'cut-to-api': (cluster, step) => loseNode(cluster, step, 'cut-to-api'),
  'cut-from-api': (cluster, step) => loseNode(cluster, step, 'cut-from-api'),
  'power-loss': (cluster, step) => loseNode(cluster, step, 'power-loss'),
  pause: async (cluster, step) => {
    if (isNode(step.target)) return loseNode(cluster, step, 'kubelet-stopped');
    const container = containerOf(cluster, step.target);
    await docker('pause', container);
    return () => docker('unpause', container);
  },
  // What remains: the way to the store, which an API server has in the simulator as well.
  'cut-master': async (cluster, { target }) => {
    const store = await storeAddresses(cluster);
    return addRules(containerOf(cluster, target), [
      ...store.flatMap((address) => [
        ['INPUT', '--source', address, '--jump', 'ACCEPT'],
        ['OUTPUT', '--destination', address, '--jump', 'ACCEPT'],
      ]),
      ['INPUT', '!', '--in-interface', 'lo', '--jump', 'DROP'],
      ['OUTPUT', '!', '--out-interface', 'lo', '--jump', 'DROP'],
    ]);
  },
  'lossy-link': async (cluster, { target, value = 0 }) => {
    const chance = ['--match', 'statistic', '--mode', 'random', '--probability', String(value), '--jump', 'DROP'];
    return addRules(containerOf(cluster, target), [
      ['INPUT', '!', '--in-interface', 'lo', ...chance],
      ['OUTPUT', '!', '--out-interface', 'lo', ...chance],
    ]);
  },
  'store-down': async (cluster, { target }) => {
    const store = await storeAddresses(cluster);
    const rules = store.flatMap((address) => [
      ['INPUT', '--source', address, '--jump', 'DROP'],
      ['OUTPUT', '--destination', address, '--jump', 'DROP'],
    ]);
    return addRules(containerOf(cluster, target), rules);
  },
  'slow-link': (cluster, step) => detourToApi(cluster, containerOf(cluster, step.target), step),
  'store-slow': (cluster, { target, value = 0 }) =>
    detourToStore(cluster, containerOf(cluster, target), { delayMs: value, delays: 'answers', isExact: true }),
  'feed-lag': (cluster, { target, value = 0 }) =>
    detourToStore(cluster, containerOf(cluster, target), { delayMs: value, delays: 'feed' }),
  'store-unknown': (cluster, { target, value = 0 }) =>
    detourToStore(cluster, containerOf(cluster, target), { lostAnswers: value }),
  'bus-outage': (cluster) => kill(...busesOf(cluster.form).map((bus) => cluster.containerOf(bus))),
  'store-failover': async (cluster) =>
    kill(cluster.containerOf(cluster.form === 'S' ? 'redis' : await leaderOfLog(cluster))),
  'masters-down': (cluster) => kill(...mastersOf(cluster.form).map((master) => cluster.containerOf(master))),
  ...ZONE_FAULTS,
  ...LINK_FAULTS,
  ...STORE_FAULTS,
  ...SURROUNDINGS,
  crash: (cluster, { target }) => kill(containerOf(cluster, target)),
  'kill-process': async (cluster, step) => {
    const pod = await findPod(cluster.admin, step);
    if (pod === undefined) throw new Error('no such pod');
    const container = cluster.containerOf(pod.spec.nodeName ?? '');
    const wanted = new RegExp(`POD_UID=${pod.metadata.uid}(?:\\0|$)`);
    const pids = await processesOf(container, wanted);
    if (pids.length === 0) throw new Error('the pod has no process');
    for (const pid of pids) killIfThere(pid);
  },
};

const ACTIONS: Readonly<Partial<Record<StepKind, Begin>>> = { ...FAULT_ACTIONS, ...USER_ACTIONS };

export const canContainers = (kind: StepKind): boolean => ACTIONS[kind] !== undefined;

/** Begins a step on whom it means now. Users take no for an answer. */
export async function beginStep(cluster: ComposeCluster, scenario: Scenario, step: Step): Promise<End | void> {
  const begin = ACTIONS[step.do];
  invariant(begin !== undefined, 'a scenario is refused before it starts when a step cannot be done', {
    kind: step.do,
  });
  return begin(cluster, step, scenario);
}

/** The node of `node-of-db`, also in `@node-of-db`. */
export async function meantNow(admin: ApiClient, step: Step): Promise<Step> {
  const [, before = '', app] = /^(@?)node-of-(\w+)$/.exec(step.target) ?? [];
  if (app === undefined) return step;
  const pods = await podsOf(admin, app);
  const node = pods.toSorted((a, b) => (a.metadata.name ?? '').localeCompare(b.metadata.name ?? ''))[0]?.spec.nodeName;
  return node === undefined ? step : { ...step, target: `${before}${node}` };
}

const isNode = (target: string): boolean => target.startsWith('node-');

async function loseNode(cluster: ComposeCluster, { target }: Step, kind: LossKind): Promise<End> {
  const faults = new NodeFaults(cluster);
  await faults.begin(kind, target);
  return () => faults.end(kind, target);
}

const storeAddresses = async (cluster: ComposeCluster): Promise<readonly string[]> =>
  addressesOf(...storesOf(cluster.form).map((store) => cluster.containerOf(store)));

/** A short one, as a `sleep` of a shell, may have ended since it was seen: the others are killed all the same. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** The processes of a container whose environment has this. */
async function processesOf(container: string, environment: RegExp): Promise<readonly number[]> {
  const [, ...pids] = (await docker('top', container, '-eo', 'pid')).split('\n').map((line) => line.trim());
  return pids.filter((pid) => environment.test(readProc(pid, 'environ'))).map(Number);
}
