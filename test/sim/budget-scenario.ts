import { DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, type Pod } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import type { Random } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import { SimCluster } from './cluster.ts';
import { isReady } from './workloads.ts';

const REPLICAS = 5;
const MIN_AVAILABLE = 3;
const LABELS = { app: 'web' };
const WEB = { namespace: 'default', name: 'web' };
const STEPS = 40;
const STEP_MAX_MS = 4_000;
const SETTLE_MS = 60_000;

export interface BudgetRun {
  /** Evictions of a ready pod that left fewer ready ones than the budget demands. */
  readonly violations: readonly string[];
  readonly granted: number;
  readonly refused: number;
}

/**
 * Evictions among deletions by users, rollouts and lost nodes, on stale caches. The oracle checks the store's commits:
 * when an eviction takes a ready pod, enough others must be ready.
 */
export async function runBudgetScenario(seed: number): Promise<BudgetRun> {
  const oracle = new BudgetOracle();
  const busQuality = { minLatencyMs: 1, maxLatencyMs: 3_000, loss: 0.05, duplication: 0.05 };
  const cluster = new SimCluster({
    seed,
    nodes: 4,
    identities: /^none$/,
    busQuality,
    storeOf: (store) => oracle.watching(store),
  });
  cluster.start();
  await cluster.kernel.runFor(20_000);
  await cluster.ask(createWorkload(cluster));
  await cluster.kernel.runFor(SETTLE_MS);
  const random = cluster.kernel.random('budget scenario');
  let refused = 0;
  for (let step = 0; step < STEPS; step++) {
    refused += await act(cluster, random);
    await cluster.kernel.runFor(random.float() * STEP_MAX_MS);
  }
  return { violations: oracle.violations, granted: oracle.granted, refused };
}

/** One or two concurrent requests; resolves with the number of refused evictions. */
async function act(cluster: SimCluster, random: Random): Promise<number> {
  const { admin, network, nodeNames } = cluster;
  const { items } = await cluster.ask(admin.list(PODS, { namespace: 'default' }));
  const pick = <T>(of: readonly T[]): T | undefined => of[random.int(of.length)];
  const target = (): { namespace: string; name: string } => ({
    namespace: 'default',
    name: pick(items)?.metadata.name ?? 'none',
  });
  const evict = () => admin.evict(target());
  const requests: (() => Promise<unknown>)[] = [evict];
  const dice = random.float();
  if (dice < 0.3) requests.unshift(() => admin.delete(PODS, target()));
  else if (dice < 0.4) requests.unshift(() => rollOut(cluster, String(dice)));
  else if (dice < 0.7) requests.push(evict, evict);
  else if (dice < 0.8) network.isolate(pick(nodeNames) ?? '');
  else if (dice < 0.9) for (const node of nodeNames) network.rejoin(node);
  const answers = await cluster.ask(Promise.allSettled(requests.map((send) => send())));
  const isRefusal = (reason: unknown): boolean => reason instanceof StatusError && reason.code === 429;
  return answers.filter((answer) => answer.status === 'rejected' && isRefusal(answer.reason)).length;
}

async function rollOut({ admin }: SimCluster, round: string): Promise<void> {
  const template = { metadata: { annotations: { round } } };
  await admin.patch(DEPLOYMENTS, WEB, { type: 'merge', body: { spec: { template } } });
}

async function createWorkload({ admin }: SimCluster): Promise<void> {
  const selector = { matchLabels: LABELS };
  await admin.create(POD_DISRUPTION_BUDGETS, {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: WEB,
    spec: { minAvailable: MIN_AVAILABLE, selector },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  });
  const containers = [{ name: 'main', image: 'busybox', command: ['stop-after', '2'], resources: {} }];
  await admin.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: WEB,
    spec: {
      replicas: REPLICAS,
      selector,
      strategy: {},
      template: { metadata: { labels: LABELS }, spec: { containers } },
    },
    status: {},
  });
}

/** The pods of the budget in the store. */
class BudgetOracle {
  readonly violations: string[] = [];
  granted = 0;
  readonly #pods = new Map<string, Pod>();

  watching(store: Store): Store {
    return new Proxy(store, {
      get: (of, name) => {
        if (name === 'write') return this.#writeTo(of);
        const member: unknown = Reflect.get(of, name);
        return typeof member === 'function' ? member.bind(of) : member;
      },
    });
  }

  #writeTo(store: Store): Store['write'] {
    return async (operations, options) => {
      const result = await store.write(operations, options);
      if (result.outcome !== 'committed') return result;
      for (const operation of operations) {
        if (!operation.key.includes('/pods/')) continue;
        if (operation.kind === 'delete') this.#pods.delete(operation.key);
        else this.#stored(operation.key, JSON.parse(operation.value) as Pod);
      }
      return result;
    };
  }

  #stored(key: string, pod: Pod): void {
    const old = this.#pods.get(key);
    this.#pods.set(key, pod);
    if (old === undefined || !isReady(old) || pod.metadata.deletionTimestamp === undefined) return;
    const mark = pod.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
    if (mark?.reason !== 'EvictionByEvictionAPI') return;
    this.granted++;
    const left = [...this.#pods.values()].filter(isReady).length;
    if (left < MIN_AVAILABLE)
      this.violations.push(`the eviction of ${key} leaves ${left} ready pods of ${MIN_AVAILABLE}`);
  }
}
