import { LEASES, type Lease, NODE_LEASES_NAMESPACE, PERSISTENT_VOLUMES, PODS, type Pod } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import { InvariantViolation } from '@holdfast/platform';
import { type ProcessFact, SimulationFailure } from '@holdfast/testing';
import { NO_RECORDING, type Recording } from '../../scenario/timeline/recording.ts';
import { SimCluster, type SimClusterOptions, type SimData } from '../cluster.ts';
import { type Commit, objectOf } from '../committed.ts';
import { fencerConfiguration } from '../fencing-scene.ts';
import { World } from '../world.ts';
import { ACTIONS, heal, liftEverything } from './actions.ts';
import { startOf } from './booted.ts';
import { BudgetRule } from './budget-rule.ts';
import { type ClientCounts, SimClients } from './clients.ts';
import { COMMIT_RULES, CommitOracle } from './commit-rules.ts';
import { wrote } from './fault-actions.ts';
import { createFaultyStore, goodWay, type StoreWay } from './faulty-store.ts';
import { historyRules } from './history-rules.ts';
import { whatIsLeft } from './leftovers.ts';
import { Living } from './living.ts';
import { Moments } from './moments.ts';
import { APPS, type HuntPlan, isCalm, OBSERVER, replicasOf, type Step } from './plan.ts';
import { PowerAgent } from './power-agent.ts';
import { RateRule } from './rate-rule.ts';
import { expectRecovery } from './recovery.ts';
import { isOff, meantNow, type Scene, send } from './scene.ts';
import { StartRule } from './start-rule.ts';
import { hasStrayed, isAdoptable } from './strays.ts';
import { letGo } from './user-actions.ts';
import { WatchOracle } from './watch-oracle.ts';
import {
  createApp,
  createHuntWorkloads,
  createJob,
  createOne,
  diskOf,
  FINALIZER,
  STRAYED,
  stopSecondsOf,
} from './workloads.ts';

/** The finding: the same rule violated by a smaller schedule counts as equal. */
export interface Violation {
  readonly rule: string;
  readonly story: string;
}

/** What a plan does not say. */
export interface HuntExtra extends Pick<SimClusterOptions, 'logOf'> {
  /** Seconds until everything is whole after the faults. */
  readonly wholeWithin?: number;
  /** Seconds until the identities of a lost node run elsewhere. */
  readonly recoverWithin?: number | undefined;
  readonly recording?: Recording;
  /** Clients whose histories are checked at the end. */
  readonly clients?: ClientCounts;
}

export interface HuntOutcome {
  readonly violation: Violation | undefined;
  readonly traceHash: string;
  readonly steps: number;
  readonly simulatedSeconds: number;
}

const UP_WITHIN_MS = 120_000;
const WHOLE_WITHIN_SECONDS = 900;
const QUIET_MS = 30_000;
/** Nothing is under way any more in a cluster from which others continue. */
const SETTLED_MS = 5_000;
/** In a cluster that continues: until there are leaders, and nodes have heard of their first renewal. */
const LEADERS_MS = 2_000;
const NODE_MONITOR_GRACE_SECONDS = 20;
const FENCED_AFTER_SECONDS = 20;
const FOLLOWER_RULE = 'who follows a kind knows it as it is stored';

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
  readonly #observer: Informer<Pod>;
  /** The revision of what the cluster started on. */
  readonly #startRevision: number;
  #clients: SimClients | undefined;
  #startedAtMs = 0;
  #isHealed = false;

  readonly #extra: HuntExtra;
  readonly #recording: Recording;

  constructor(plan: HuntPlan, { data, ...extra }: HuntExtra & Pick<SimClusterOptions, 'data'> = {}) {
    this.#plan = plan;
    this.#extra = extra;
    const { recording = NO_RECORDING } = extra;
    this.#recording = recording;
    const ways = new Map<string, StoreWay>();
    const living = new Living((name) => diskOf(plan, name));
    const named = new Set<string>();
    const now = (): number => cluster.kernel.elapsedMs;
    const replicas = {
      hasOneActor: plan.managers === 1 || plan.isLeaderless !== true,
      crashedAtMs: () => cluster.crashedAtMs,
    };
    const history = historyRules({ living, named, isCalm: isCalm(plan), replicas });
    const starts = new StartRule((name) => diskOf(plan, name), now);
    const commits = new CommitOracle({ ...COMMIT_RULES, ...history }, now);
    this.#startRevision = data?.revision ?? 0;
    commits.startOn(data?.objects ?? []);
    const budget = new BudgetRule(now);
    budget.startOn(data?.objects ?? []);
    const rate = new RateRule(() => cluster.kernel);
    const { apiServers, schedulers, managers } = plan;
    const cluster = new SimCluster({
      seed: plan.seed,
      nodes: plan.nodes,
      identities: /^/,
      data,
      ...(extra.logOf === undefined ? {} : { logOf: extra.logOf }),
      events: plan.keepsEvents === true ? 'stored' : 'dropped',
      replicas: { apiServers, schedulers, managers },
      leases: plan.isLeaderless === true ? 'off' : undefined,
      selfFencing: plan.selfFencing === true ? { policy: 'exclusive' } : undefined,
      onWrite: (party) => wrote(this.#scene, party),
      nodeMonitorGraceSeconds: NODE_MONITOR_GRACE_SECONDS,
      observe: (fact) => {
        living.observe(fact);
        recording.process(now(), fact);
        this.#moments.process(fact);
        starts.started(fact);
        if (fact.kind === 'ended' && mayJudgeGrace(this.#scene, fact))
          living.checkGrace(fact.podUid, now(), stopSecondsOf(plan));
      },
      onAnswer: (answered) => starts.answered(answered),
      observeCommit: (commit) => {
        commits.observe(commit);
        recording.commit(now(), commit);
        this.#clients?.committed(commit);
        this.#moments.committed(commit);
        budget.observe(commit);
        rate.wrote(commit.by ?? '');
        noteEnd(living, commit);
        noteRequest(living, commit, now());
        starts.committed(commit);
        for (const watch of this.#watches) watch.committed(commit);
      },
      storeOf: (store, machine) => {
        const way = ways.get(machine.name) ?? goodWay();
        ways.set(machine.name, way);
        return createFaultyStore(store, machine, way, () => {
          recording.stored(now(), machine.name);
          wrote(this.#scene, machine.name);
        });
      },
    });
    this.cluster = cluster;
    this.#world = new World(cluster);
    this.#watches = [
      new WatchOracle(cluster, { resource: PODS, clients: [cluster.watcher] }),
      new WatchOracle(cluster, { resource: PODS, clients: cluster.racers, isRestless: true }),
    ];
    for (const oracle of [living, commits, budget, rate, starts, ...this.#watches]) cluster.kernel.addOracle(oracle);
    const lost = { poweredOff: new Set<string>(), fenced: new Set<string>(), retired: new Set<string>() };
    this.#scene = {
      plan,
      cluster,
      living,
      ways,
      ...lost,
      crashed: new Set(),
      doomed: new Map(),
      named,
      killed: new Set(),
    };
    this.#observer = cluster.follow(OBSERVER, PODS);
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
    send(cluster, () => createJob(cluster.admin, 'first-job'));
    for (const watch of this.#watches) watch.start();
    this.#clients = SimClients.start(cluster, this.#extra.clients);
    this.#startedAtMs = kernel.elapsedMs;
    this.#recording.begins(kernel.elapsedMs, cluster.committed.list(PERSISTENT_VOLUMES));
    for (const step of this.#plan.steps) this.#schedule(step);
    await kernel.runFor(this.#plan.seconds * 1000);
    this.#isHealed = true;
    this.#moments.disarm();
    heal(this.#scene);
    this.#recording.healed(kernel.elapsedMs);
    cluster.background(this.#restoreWorkloads());
    this.#clients?.stop();
    await this.#untilWhole('everything is whole again', (this.#extra.wholeWithin ?? WHOLE_WITHIN_SECONDS) * 1000);
    await kernel.runFor(QUIET_MS);
    await this.#untilWhole('it stays whole', QUIET_MS);
    this.#checkObserver();
    await this.#clients?.check();
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
    const { recoverWithin } = this.#extra;
    const secondsLeft = this.#plan.seconds - (kernel.elapsedMs - this.#startedAtMs) / 1000;
    const lasts = Math.min(step.for ?? 0, secondsLeft);
    if (recoverWithin !== undefined) expectRecovery(this.#scene, { ...step, for: lasts }, recoverWithin);
    const end = ACTIONS[step.do](this.#scene, step);
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
      for (const [target, value] of Object.entries(replicasOf(this.#plan)))
        scale(this.#scene, { ...again, target, value });
      for (const { metadata } of cluster.committed.list(PODS)) {
        if (!(metadata.finalizers ?? []).includes(FINALIZER)) continue;
        await quietly(letGo(admin, metadata.name ?? ''));
      }
      await this.#bringStraysBack();
      await this.#clearStrays();
      for (const app of APPS) await quietly(createApp(this.#plan, admin, app));
      if (this.#world.findPod('one') === undefined) await quietly(createOne(this.#plan, admin));
      await machine.sleep();
    }
  }

  async #bringStraysBack(): Promise<void> {
    const { committed, admin } = this.cluster;
    for (const { metadata } of committed.list(PODS)) {
      if (metadata.labels?.['app'] !== STRAYED) continue;
      const body = { metadata: { labels: { app: metadata.labels['was'] } } };
      const target = { namespace: 'default', name: metadata.name ?? '' };
      await admin.patch(PODS, target, { type: 'merge', body }).catch(() => undefined);
    }
  }

  /** The user deletes pods that he took from their controller, and that no controller can adopt any more. */
  async #clearStrays(): Promise<void> {
    const { committed, admin } = this.cluster;
    for (const { metadata } of committed.list(PODS)) {
      if (!hasStrayed(metadata) || isAdoptable(committed, metadata)) continue;
      const target = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
      await admin.delete(PODS, target).catch(() => undefined);
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

  /** After a long quiet, whoever follows the pods knows them as they are stored. */
  #checkObserver(): void {
    const { kernel, committed } = this.cluster;
    const inWords = (pods: readonly Pod[]): readonly string[] =>
      pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name} at ${metadata.resourceVersion}`).toSorted();
    const stored = inWords(committed.list(PODS));
    const seen = inWords(this.#observer.list());
    const wrong = [...new Set([...stored, ...seen])].filter((each) => stored.includes(each) !== seen.includes(each));
    if (wrong.length === 0) return;
    const story = `stored or seen only: ${wrong.join(', ')}`;
    throw new SimulationFailure({ oracle: FOLLOWER_RULE, seed: kernel.seed, atMs: kernel.elapsedMs, story });
  }

  /** Nodes are ready, applications complete, and the living processes match the API. */
  #whyNotWhole(): string | undefined {
    const world = this.#world;
    const ready = world.readyNodes();
    if (ready.length !== this.#plan.nodes) return `nodes ready: ${ready.join(', ')}`;
    for (const [app, replicas] of Object.entries({ ...replicasOf(this.#plan), one: 1 })) {
      if (!world.isUp(app, replicas)) return `${app} is not up: ${world.pods(app).map(describe).join('; ')}`;
    }
    const bound = new Map(world.allPods().map((pod) => [pod.metadata.uid ?? '', pod]));
    for (const { uid, name, node } of this.#scene.living.all()) {
      if (bound.get(uid)?.spec.nodeName !== node)
        return `${name} (${uid}) lives on ${node}, which the API does not say`;
    }
    const going = world.allPods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    if (going.length > 0) return `still being deleted: ${going.map(describe).join('; ')}`;
    return whatIsLeft(this.cluster.committed);
  }
}

/** Only the kubelet ends it: no power loss, no watchdog. A Job's pod ends by itself. */
const mayJudgeGrace = (scene: Scene, { node, podName, podUid }: ProcessFact): boolean =>
  scene.plan.selfFencing !== true && !scene.killed.has(podUid) && !isOff(scene, node) && !podName.includes('job');

function noteRequest(living: Living, commit: Commit, atMs: number): void {
  const { kind, key } = commit.operation;
  if (!key.startsWith('core/pods/')) return;
  const { metadata, status } = objectOf(commit) as Pod;
  const { uid = '', deletionTimestamp, deletionGracePeriodSeconds: graceSeconds = 0 } = metadata;
  const isOver = kind === 'delete' || status.phase === 'Succeeded' || status.phase === 'Failed';
  if (isOver) living.endRequested(uid, undefined);
  else if (deletionTimestamp !== undefined) living.endRequested(uid, { atMs, graceSeconds });
}

/** Records ends that a kubelet declared; other writers only give a pod up, and its node may not know yet. */
function noteEnd(living: Living, commit: Commit): void {
  const { operation, by = '' } = commit;
  const { kind, key } = operation;
  if (kind !== 'update' || !key.startsWith('core/pods/') || !by.startsWith('system:node:')) return;
  const { metadata, status } = objectOf(commit) as Pod;
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
