import { LEASES, type Lease, NODE_LEASES_NAMESPACE, PERSISTENT_VOLUMES, PODS } from '@holdfast/api';
import { SimulationFailure } from '@holdfast/testing';
import { NO_CLIENTS } from '../../scenario/clients.ts';
import { NO_RECORDING, type Recording } from '../../scenario/timeline/recording.ts';
import { SimCluster, type SimClusterOptions, type SimData } from '../cluster.ts';
import { fencerConfiguration } from '../fencing-scene.ts';
import { World } from '../world.ts';
import { ACTIONS, heal } from './actions.ts';
import { startOf } from './booted.ts';
import { type ClientCounts, SimClients } from './clients.ts';
import type { Coverage } from './coverage.ts';
import { wrote } from './fault-actions.ts';
import { createFaultyStore, goodWay, type StoreWay } from './faulty-store.ts';
import { checkFollowers, checkServed, FOLLOWED, type Follower } from './knowledge.ts';
import { Moments } from './moments.ts';
import { type HuntPlan, OBSERVER, type Step, WHOLE_WITHIN_SECONDS } from './plan.ts';
import { PowerAgent } from './power-agent.ts';
import { expectRecovery } from './recovery.ts';
import { restoreWorkloads } from './restore.ts';
import { Rules } from './rules.ts';
import { meantNow, type Scene, send } from './scene.ts';
import { type Violation, violationOf } from './violation.ts';
import { WatchOracle } from './watch-oracle.ts';
import { untilWhole } from './whole.ts';
import { createHuntWorkloads, createJob } from './workloads.ts';

/** What a plan does not say. */
export interface HuntExtra extends Pick<SimClusterOptions, 'logOf'> {
  /** Seconds until everything is whole after the faults. */
  readonly wholeWithin?: number;
  /** Seconds until the identities of a lost node run elsewhere. */
  readonly recoverWithin?: number | undefined;
  readonly recording?: Recording;
  /** Clients whose histories are checked at the end. */
  readonly clients?: ClientCounts;
  /** Learns what the run reaches. */
  readonly coverage?: Coverage;
}

export interface HuntOutcome {
  readonly violation: Violation | undefined;
  readonly traceHash: string;
  readonly steps: number;
  readonly simulatedSeconds: number;
}

const UP_WITHIN_MS = 120_000;
const QUIET_MS = 30_000;
/** Nothing is under way any more in a cluster from which others continue. */
const SETTLED_MS = 5_000;
/** Clients give a watch up after 90 s of silence, and go on elsewhere. */
const SILENCE_ENDS_MS = 150_000;
/** In a cluster that continues: until there are leaders, and nodes have heard of their first renewal. */
const LEADERS_MS = 2_000;
/** The first bookmark of every watch has come, which ends it. */
const REST_MS = 65_000;
const NODE_MONITOR_GRACE_SECONDS = 20;
/** Longer than a run: it would heal what informers have lost before a rule sees it. */
const SAFETY_CHECK_MS = 24 * 3_600_000;
const FENCED_AFTER_SECONDS = 20;
/** A load of a large store takes some seconds. */
const LARGE_PAGE_MS = 700;

/** Renewals are most of the writes, and what comes between two of them leaves nothing half done. */
const isOfLease = (path: string): boolean => path.includes('/leases/');

/** One seed: the cluster starts, is disturbed by the plan, is left alone, and must recover completely. */
export async function runPlan(plan: HuntPlan, extra: HuntExtra = {}): Promise<HuntOutcome> {
  const data = await startOf(plan, (shape, booted) => new Hunt(shape, { data: booted }).comeUp());
  const hunt = new Hunt(plan, { ...extra, data });
  const violation = await hunt.run();
  const { kernel } = hunt.cluster;
  extra.recording?.ends(kernel.elapsedMs, violation);
  return {
    violation,
    traceHash: kernel.traceHash(),
    steps: kernel.steps,
    simulatedSeconds: Math.round((kernel.elapsedMs - (data?.atMs ?? 0)) / 1000),
  };
}

export class Hunt {
  readonly cluster: SimCluster;
  readonly #plan: HuntPlan;
  readonly #world: World;
  readonly #scene: Scene;
  readonly #moments = new Moments();
  readonly #watches: readonly WatchOracle[];
  readonly #followers: readonly Follower[];
  /** The revision of what the cluster started on. */
  readonly #startRevision: number;
  #startedAtMs = 0;
  #isHealed = false;
  #clients: SimClients | undefined;

  readonly #extra: HuntExtra;
  readonly #recording: Recording;

  constructor(plan: HuntPlan, { data, ...extra }: HuntExtra & Pick<SimClusterOptions, 'data'> = {}) {
    this.#plan = plan;
    this.#extra = extra;
    const { recording = NO_RECORDING, coverage } = extra;
    const logOf = extra.logOf ?? (coverage === undefined ? undefined : (party: string) => coverage.logOf(party));
    this.#recording = recording;
    const ways = new Map<string, StoreWay>();
    const now = (): number => cluster.kernel.elapsedMs;
    coverage?.follow(now);
    const rules = new Rules({ plan, data, cluster: () => cluster, scene: () => this.#scene });
    this.#startRevision = data?.revision ?? 0;
    const { apiServers, schedulers, managers } = plan;
    const cluster = new SimCluster({
      seed: plan.seed,
      nodes: plan.nodes,
      identities: /^/,
      data,
      ...(logOf === undefined ? {} : { logOf }),
      events: plan.keepsEvents === true ? 'stored' : 'dropped',
      replicas: { apiServers, schedulers, managers },
      leases: plan.isLeaderless === true ? 'off' : undefined,
      selfFencing: plan.selfFencing === true ? { policy: 'exclusive' } : undefined,
      onWrite: (party, path) => {
        if (!isOfLease(path)) wrote(this.#scene, party);
      },
      onRestart: (party) => this.#moments.started(party),
      nodeMonitorGraceSeconds: NODE_MONITOR_GRACE_SECONDS,
      safetyCheckIntervalMs: SAFETY_CHECK_MS,
      observe: (fact) => {
        rules.process(fact);
        recording.process(now(), fact);
        this.#moments.process(fact);
      },
      onAnswer: (answered) => {
        rules.answered(answered);
        coverage?.answered(answered);
      },
      observeCommit: (commit) => {
        rules.committed(commit);
        recording.commit(now(), commit);
        this.#moments.committed(commit);
        coverage?.committed(commit);
        this.#clients?.committed(commit);
        for (const watch of this.#watches) watch.committed(commit);
      },
      storeOf: (store, machine) => {
        const way = ways.get(machine.name) ?? goodWay(plan.isLarge === true ? LARGE_PAGE_MS : 0);
        ways.set(machine.name, way);
        return createFaultyStore(store, machine, way, (operations) => {
          recording.stored(now(), machine.name);
          if (!operations.every(({ key }) => isOfLease(key))) wrote(this.#scene, machine.name);
        });
      },
    });
    this.cluster = cluster;
    this.#world = new World(cluster);
    this.#watches = [
      new WatchOracle(cluster, { resource: PODS, clients: [cluster.watcher] }),
      new WatchOracle(cluster, { resource: PODS, clients: cluster.racers, isRestless: true }),
    ];
    for (const oracle of [...rules.all, ...this.#watches]) cluster.kernel.addOracle(oracle);
    const lost = { poweredOff: new Set<string>(), fenced: new Set<string>(), retired: new Set<string>() };
    this.#scene = {
      plan,
      cluster,
      living: rules.living,
      ways,
      ...lost,
      crashed: new Set(),
      doomed: new Map(),
      named: rules.named,
      killed: new Set(),
    };
    this.#followers = FOLLOWED.map((kind) => ({ kind, informer: cluster.follow(OBSERVER, kind) }));
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
      for (const watch of this.#watches) watch.stop();
      process.off('unhandledRejection', collect);
    }
    return collected.length === 0 ? undefined : violationOf(collected[0]);
  }

  /** Returns the cluster as it is when its applications run. */
  async comeUp(): Promise<SimData> {
    await this.#start();
    await this.cluster.kernel.runFor(SETTLED_MS);
    return this.cluster.data();
  }

  async #start(): Promise<void> {
    const { cluster } = this;
    const { kernel } = cluster;
    cluster.start();
    if (this.#plan.hasFencer) this.#startFencer();
    await kernel.runUntil('the API serves', () => this.#nodesServe(), UP_WITHIN_MS);
    if (this.#world.allPods().length === 0) cluster.background(createHuntWorkloads(this.#plan, cluster.admin));
    else await kernel.runFor(LEADERS_MS);
    await this.#untilWhole('the workloads come up', UP_WITHIN_MS);
  }

  /** The kubelet of each node has renewed its lease since the start. */
  #nodesServe(): boolean {
    const isNew = ({ metadata }: Lease): boolean => Number(metadata.resourceVersion) > this.#startRevision;
    const renewed = this.cluster.committed
      .list(LEASES)
      .filter((lease) => lease.metadata.namespace === NODE_LEASES_NAMESPACE && isNew(lease));
    return renewed.length === this.#plan.nodes && this.#world.readyNodes().length === this.#plan.nodes;
  }

  async #play(): Promise<void> {
    const { cluster } = this;
    const { kernel } = cluster;
    await this.#start();
    if (this.#plan.isRested === true) await kernel.runFor(REST_MS);
    send(cluster, () => createJob(cluster.admin, 'first-job'));
    for (const watch of this.#watches) watch.start();
    const { rareRegisters = 0 } = this.#plan;
    this.#clients = SimClients.start(cluster, { ...(this.#extra.clients ?? NO_CLIENTS), rareRegisters });
    this.#startedAtMs = kernel.elapsedMs;
    this.#recording.begins(kernel.elapsedMs, cluster.committed.list(PERSISTENT_VOLUMES));
    for (const step of this.#plan.steps) this.#schedule(step);
    await kernel.runFor(this.#plan.seconds * 1000);
    this.#isHealed = true;
    this.#moments.disarm();
    heal(this.#scene);
    this.#recording.healed(kernel.elapsedMs);
    cluster.background(restoreWorkloads(this.#scene));
    this.#clients?.stop();
    await this.#untilWhole('everything is whole again', (this.#extra.wholeWithin ?? WHOLE_WITHIN_SECONDS) * 1000);
    await kernel.runFor(QUIET_MS);
    await this.#untilWhole('it stays whole', QUIET_MS);
    checkFollowers(cluster, this.#followers);
    await checkServed(cluster);
    for (const watch of this.#watches) await this.#untilTold(watch);
    await this.#clients?.check();
  }

  /** A client that waits on a connection to a lost machine finds out by its silence. */
  async #untilTold(watch: WatchOracle): Promise<void> {
    const { kernel } = this.cluster;
    const until = kernel.elapsedMs + SILENCE_ENDS_MS;
    while (!watch.isTold() && kernel.elapsedMs < until) await kernel.runFor(QUIET_MS);
    const story = watch.untold();
    if (story !== undefined)
      throw new SimulationFailure({ oracle: watch.name, seed: kernel.seed, atMs: kernel.elapsedMs, story });
  }

  #startFencer(): void {
    const { cluster } = this.#scene;
    const agent = new PowerAgent(this.#scene);
    const configuration = fencerConfiguration('power', 'node', { afterSeconds: FENCED_AFTER_SECONDS });
    cluster.startFencer({ party: 'fencer', holder: 'fencer', configuration, agents: new Map([[agent.name, agent]]) });
  }

  #schedule(step: Step): void {
    this.#later(step.at, step, () => {
      const meant = meantNow(this.#scene, step);
      if (meant === undefined) return;
      if (meant.when === undefined) this.#begin(meant);
      else this.#moments.arm(meant, () => this.#later(meant.lag ?? 0, meant, () => this.#begin(meant)));
    });
  }

  #begin(step: Step): void {
    const { kernel } = this.cluster;
    if (this.#isHealed) return;
    this.#recording.step(kernel.elapsedMs, step);
    const { recoverWithin, coverage } = this.#extra;
    const secondsLeft = this.#plan.seconds - (kernel.elapsedMs - this.#startedAtMs) / 1000;
    const lasts = Math.min(step.for ?? 0, secondsLeft);
    if (recoverWithin !== undefined) expectRecovery(this.#scene, { ...step, for: lasts }, recoverWithin);
    const end = ACTIONS[step.do](this.#scene, step);
    coverage?.began(step, lasts);
    if (end === undefined) return;
    this.#later(lasts, step, () => {
      end();
      this.#recording.stepOver(kernel.elapsedMs, step);
    });
  }

  #later(seconds: number, step: Step, fire: () => void): void {
    const { kernel } = this.cluster;
    const delayMs = Math.max(0, seconds) * 1000;
    kernel.schedule({ delayMs, label: `step ${step.do} ${step.target}`, owner: 'hunt', fire });
  }

  #untilWhole(what: string, deadlineMs: number): Promise<void> {
    const { living } = this.#scene;
    return untilWhole({ plan: this.#plan, cluster: this.cluster, world: this.#world, living }, what, deadlineMs);
  }
}
