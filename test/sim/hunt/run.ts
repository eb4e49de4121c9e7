import { PODS, type Pod } from '@holdfast/api';
import { MemoryAgent } from '@holdfast/fencer/memory-agent';
import { InvariantViolation } from '@holdfast/platform';
import { SimulationFailure } from '@holdfast/testing';
import { SimCluster, type SimClusterOptions } from '../cluster.ts';
import type { Commit } from '../committed.ts';
import { fencerConfiguration } from '../fencing-scene.ts';
import { World } from '../world.ts';
import { ACTIONS, heal, liftEverything, meantNow, type Scene } from './actions.ts';
import { BudgetRule } from './budget-rule.ts';
import { CommitOracle } from './commit-rules.ts';
import { createFaultyStore, goodWay, type StoreWay } from './faulty-store.ts';
import { Living } from './living.ts';
import type { HuntPlan, Step } from './plan.ts';
import { WatchOracle } from './watch-oracle.ts';
import { createHuntWorkloads, createOne, REPLICAS } from './workloads.ts';

/** The finding: the same rule violated by a smaller schedule counts as equal. */
export interface Violation {
  readonly rule: string;
  readonly story: string;
}

export interface HuntOutcome {
  readonly violation: Violation | undefined;
  readonly traceHash: string;
  readonly steps: number;
  readonly simulatedSeconds: number;
}

const UP_WITHIN_MS = 120_000;
const HEALED_WITHIN_MS = 900_000;
const QUIET_MS = 30_000;
const NODE_MONITOR_GRACE_SECONDS = 20;
const FENCED_AFTER_SECONDS = 20;

/** One seed: the cluster starts, is disturbed by the plan, is left alone, and must recover completely. */
export async function runPlan(plan: HuntPlan, extra: Pick<SimClusterOptions, 'logOf'> = {}): Promise<HuntOutcome> {
  const hunt = new Hunt(plan, extra);
  const violation = await hunt.run();
  const { kernel } = hunt.cluster;
  return {
    violation,
    traceHash: kernel.traceHash(),
    steps: kernel.steps,
    simulatedSeconds: Math.round(kernel.elapsedMs / 1000),
  };
}

export class Hunt {
  readonly cluster: SimCluster;
  readonly #plan: HuntPlan;
  readonly #world: World;
  readonly #scene: Scene;
  readonly #watches: WatchOracle;

  constructor(plan: HuntPlan, extra: Pick<SimClusterOptions, 'logOf'> = {}) {
    this.#plan = plan;
    const ways = new Map<string, StoreWay>();
    const living = new Living((name) => name.startsWith('disk'));
    const commits = new CommitOracle();
    const budget = new BudgetRule();
    const { apiServers, schedulers, managers } = plan;
    const cluster = new SimCluster({
      seed: plan.seed,
      nodes: plan.nodes,
      identities: /^/,
      ...extra,
      replicas: { apiServers, schedulers, managers },
      nodeMonitorGraceSeconds: NODE_MONITOR_GRACE_SECONDS,
      observe: (fact) => living.observe(fact),
      observeCommit: (commit) => {
        commits.observe(commit);
        budget.observe(commit);
        noteEnd(living, commit);
        if (commit.operation.key.startsWith('core/pods/')) this.#watches.committed(commit.revision);
      },
      storeOf: (store, machine) => {
        const way = ways.get(machine.name) ?? goodWay();
        ways.set(machine.name, way);
        return createFaultyStore(store, machine, way);
      },
    });
    this.cluster = cluster;
    this.#world = new World(cluster);
    this.#watches = new WatchOracle(cluster);
    for (const oracle of [living, commits, budget, this.#watches]) cluster.kernel.addOracle(oracle);
    this.#scene = { cluster, living, ways, poweredOff: new Set(), crashed: new Set(), fenced: new Set() };
  }

  async run(): Promise<Violation | undefined> {
    const collected: unknown[] = [];
    const collect = (error: unknown): void => void collected.push(error);
    process.on('unhandledRejection', collect);
    try {
      await this.#play();
    } catch (error) {
      return violationOf(error);
    } finally {
      this.#watches.stop();
      process.off('unhandledRejection', collect);
    }
    return collected.length === 0 ? undefined : violationOf(collected[0]);
  }

  async #play(): Promise<void> {
    const { cluster } = this;
    const { kernel } = cluster;
    cluster.start();
    if (this.#plan.hasFencer) this.#startFencer();
    await kernel.runUntil('the API serves', () => this.#world.readyNodes().length === this.#plan.nodes, UP_WITHIN_MS);
    cluster.background(createHuntWorkloads(cluster.admin));
    await this.#untilWhole('the workloads come up', UP_WITHIN_MS);
    this.#watches.start();
    for (const step of this.#plan.steps) this.#schedule(step);
    await kernel.runFor(this.#plan.seconds * 1000);
    heal(this.#scene);
    cluster.background(this.#restoreWorkloads());
    await this.#untilWhole('everything is whole again', HEALED_WITHIN_MS);
    await kernel.runFor(QUIET_MS);
    await this.#untilWhole('it stays whole', QUIET_MS);
  }

  #startFencer(): void {
    const { cluster, poweredOff, fenced } = this.#scene;
    const agent = new MemoryAgent('power', ({ action, node: { name } }) => {
      if (action === 'fence' && !poweredOff.delete(name)) cluster.powerOff(name);
      if (action === 'fence') fenced.add(name);
      else if (fenced.delete(name)) cluster.powerOn(name);
    });
    const configuration = fencerConfiguration('power', 'node', { afterSeconds: FENCED_AFTER_SECONDS });
    cluster.startFencer({ party: 'fencer', holder: 'fencer', configuration, agents: new Map([[agent.name, agent]]) });
  }

  #schedule(step: Step): void {
    const { kernel } = this.cluster;
    const at = (seconds: number, fire: () => void): void => {
      kernel.schedule({ delayMs: seconds * 1000, label: `step ${step.do} ${step.target}`, owner: 'hunt', fire });
    };
    at(step.at, () => {
      const meant = meantNow(this.#scene, step);
      const end = meant === undefined ? undefined : ACTIONS[step.do](this.#scene, meant);
      if (end !== undefined) at(Math.min(step.for ?? 0, this.#plan.seconds - step.at), end);
    });
  }

  /** Reverts changes of users; retries until it succeeds. */
  async #restoreWorkloads(): Promise<void> {
    const { cluster } = this;
    const again: Step = { at: 0, do: 'scale', target: '' };
    const [scale, admin] = [ACTIONS.scale, cluster.admin];
    const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);
    const machine = {
      sleep: () =>
        new Promise<void>(
          (resolve) => void cluster.kernel.schedule({ delayMs: 10_000, label: 'restore', fire: resolve }),
        ),
    };
    for (let round = 0; round < 12; round++) {
      liftEverything(this.#scene);
      for (const [target, value] of Object.entries(REPLICAS)) scale(this.#scene, { ...again, target, value });
      for (const { metadata } of cluster.committed.list(PODS)) {
        if ((metadata.finalizers ?? []).length === 0) continue;
        const target = { namespace: 'default', name: metadata.name ?? '' };
        await quietly(admin.patch(PODS, target, { type: 'merge', body: { metadata: { finalizers: [] } } }));
      }
      if (this.#world.findPod('one') === undefined) await quietly(createOne(admin));
      await machine.sleep();
    }
  }

  async #untilWhole(what: string, deadlineMs: number): Promise<void> {
    const { kernel } = this.cluster;
    let reason: string | undefined = 'not looked at';
    const giveUpAt = kernel.elapsedMs + deadlineMs;
    let lookAt = 0;
    const isOver = (): boolean => {
      if (kernel.elapsedMs < lookAt) return false;
      lookAt = kernel.elapsedMs + 500;
      reason = this.#whyNotWhole();
      return reason === undefined || kernel.elapsedMs >= giveUpAt;
    };
    await kernel.runUntil(what, isOver, deadlineMs + QUIET_MS);
    if (reason === undefined) return;
    const story = `${what}: not within ${deadlineMs / 1000} s: ${reason}`;
    throw new SimulationFailure({ oracle: 'liveness', seed: kernel.seed, atMs: kernel.elapsedMs, story });
  }

  /** Nodes are ready, applications complete, and the living processes match the API. */
  #whyNotWhole(): string | undefined {
    const world = this.#world;
    const ready = world.readyNodes();
    if (ready.length !== this.#plan.nodes) return `nodes ready: ${ready.join(', ')}`;
    for (const [app, replicas] of Object.entries({ ...REPLICAS, one: 1 })) {
      if (!world.isUp(app, replicas)) return `${app} is not up: ${world.pods(app).map(describe).join('; ')}`;
    }
    const bound = new Map(world.allPods().map((pod) => [pod.metadata.uid ?? '', pod]));
    for (const { uid, name, node } of this.#scene.living.all()) {
      if (bound.get(uid)?.spec.nodeName !== node)
        return `${name} (${uid}) lives on ${node}, which the API does not say`;
    }
    const going = world.allPods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return going.length === 0 ? undefined : `still being deleted: ${going.map(describe).join('; ')}`;
  }
}

/** Records ends that a kubelet declared; other writers only give a pod up, and its node may not know yet. */
function noteEnd(living: Living, { operation: { kind, key, value }, by = '' }: Commit): void {
  if (kind !== 'update' || !key.startsWith('core/pods/') || !by.startsWith('system:node:')) return;
  const { metadata, status } = JSON.parse(value) as Pod;
  if (status.phase === 'Succeeded' || status.phase === 'Failed') living.ended(metadata.uid ?? '');
}

const describe = ({ metadata, spec, status }: Pod): string =>
  `${metadata.name} on ${spec.nodeName ?? 'no node'} ${status.phase}${metadata.deletionTimestamp === undefined ? '' : ' (being deleted)'}`;

function violationOf(error: unknown): Violation {
  if (error instanceof SimulationFailure) return { rule: error.oracle, story: error.message };
  if (error instanceof InvariantViolation) return { rule: `invariant: ${error.message}`, story: String(error.stack) };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { rule: `crash: ${message}`, story: stack ?? message };
}
