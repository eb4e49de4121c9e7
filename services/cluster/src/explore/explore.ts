import type { Clock, Timer } from '@holdfast/platform';
import { startCluster } from '../index.ts';
import type { SnapshotContent } from '../snapshot.ts';
import { actOn } from './apply.ts';
import { maskOf } from './end-state.ts';
import { type Finding, judge } from './judge.ts';
import { type Plan, plansOf } from './plans.ts';
import { type Expectation, type RunResult, type RunSettings, run } from './run.ts';
import { type Stage, timeIsUp } from './stages.ts';
import type { Workload } from './workload.ts';

export interface ExploreOptions {
  readonly workload: Workload;
  /** The command of the operator and its arguments. It gets its cluster by KUBECONFIG. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly hollowNodes: number;
  /** Controllers of the cluster, for an operator that replaces one: `*`, `-deployment`. Default: all. */
  readonly controllers?: readonly string[];
  /** So long without a request, an event or a change means that the operator rests. */
  readonly quietMs: number;
  readonly startWithinMs: number;
  readonly seed: number;
  /** Not more plans than these. */
  readonly plans: number;
  /** Ends after this time with what was found so far. */
  readonly withinMs: number;
  /** In place of the plans of the reference run. */
  readonly only?: Plan;
  /** The result of a finding has the history of its run: it is read once for each finding. */
  readonly historyOfFindings?: boolean;
  /** Ends with the first finding. */
  readonly untilFirst?: boolean;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Ends the operator at once and the exploration with what was found so far. Before the first plan it rejects with the
   * reason.
   */
  readonly signal?: AbortSignal;
}

export type Progress =
  | { readonly kind: 'stage'; readonly stage: Stage }
  | { readonly kind: 'reference'; readonly writes: number; readonly events: number; readonly plans: number }
  | { readonly kind: 'plan'; readonly number: number; readonly plan: Plan; readonly findings: readonly Finding[] };

export interface Accusation {
  readonly plan: Plan;
  readonly findings: readonly Finding[];
  readonly result: RunResult;
}

export interface Exploration {
  readonly reference: RunResult;
  readonly accusations: readonly Accusation[];
  readonly planned: number;
  readonly tried: number;
  /** Runs, with those that confirm. */
  readonly runs: number;
  readonly tookMs: number;
}

/** Runs the operator without a fault, then with each promising fault, and compares the ends. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { clock } = options;
  const begun = clock.monotonic();
  using limit = new Limit(options);
  const { signal, onStage } = limit;
  const settings = { ...options, signal, onStage, from: await prepared(options) };
  const expectation = await expected(settings);
  const { reference } = expectation;
  const all = options.only === undefined ? plansOf(reference.trace, options.workload.steps.length) : [options.only];
  const plans = all.slice(0, options.plans);
  const { writes, events } = reference.trace;
  options.onProgress?.({ kind: 'reference', writes: writes.length, events: events.length, plans: plans.length });
  const accusations: Accusation[] = [];
  let [tried, runs] = [0, 2];
  for (const plan of plans) {
    const title = `plan ${tried + 1}`;
    const outcome = await unlessAborted(tryPlan({ ...settings, title }, plan, expectation), signal);
    if (outcome === undefined) break;
    const { findings, result, runs: more } = outcome;
    runs += more;
    tried += 1;
    options.onProgress?.({ kind: 'plan', number: tried, plan, findings });
    if (findings.length === 0) continue;
    accusations.push({ plan, findings, result });
    if (options.untilFirst === true) break;
  }
  const tookMs = clock.monotonic() - begun;
  return { reference, accusations, planned: plans.length, tried, runs, tookMs };
}

/** Ends what runs when the time is up, and knows what ran last. */
class Limit implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: Timer;
  #stage: Stage | undefined;

  readonly onStage: (stage: Stage) => void;

  constructor({ clock, withinMs, signal, onProgress }: ExploreOptions) {
    const ending = new AbortController();
    this.signal = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
    this.#timer = clock.timer(withinMs, () => ending.abort(timeIsUp(withinMs, this.#stage)));
    this.onStage = (stage) => {
      this.#stage = stage;
      onProgress?.({ kind: 'stage', stage });
    };
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }
}

/** Two runs without a fault: the second tells what differs by nature. */
async function expected(settings: Omit<PlanSettings, 'title'>): Promise<Expected> {
  const patient = { ...settings, quietMs: settings.quietMs * PATIENT_QUIETS, mustRest: true };
  const first = await run({ ...patient, title: 'run 1 of 2 without a fault' }, undefined, undefined);
  const again = { ...patient, title: 'run 2 of 2 without a fault' };
  const second = await run(again, undefined, expectationOf(first, first));
  return { ...expectationOf(first, second), reference: first };
}

/** `undefined` for what the signal ended. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted === true) return undefined;
    throw error;
  }
}

async function prepared({
  workload,
  hollowNodes,
  seed,
  controllers = ['*'],
}: ExploreOptions): Promise<SnapshotContent> {
  await using cluster = await startCluster({ hollowNodes, seed, controllers });
  for (const object of workload.setup) await actOn(cluster.fetch, { verb: 'apply', object });
  return (await cluster.snapshot()).content;
}

function expectationOf(one: RunResult, other: RunResult): Expectation {
  const masks = one.states.map((state, i) => maskOf(state, other.states[i] ?? new Map()));
  return { states: one.states, masks };
}

/** A busy machine looks like an operator that rests: what is found has to be found again, with more patience. */
const PATIENT_QUIETS = 2;

type Expected = Expectation & { readonly reference: RunResult };

type PlanSettings = RunSettings & Pick<ExploreOptions, 'historyOfFindings'>;

async function tryPlan(settings: PlanSettings, plan: Plan, expectation: Expected) {
  const result = await run(settings, plan, expectation);
  const first = judge(expectation, result);
  if (first.length === 0) return { findings: first, result, runs: 1 };
  const { quietMs, historyOfFindings = false } = settings;
  const patient = { ...settings, quietMs: quietMs * PATIENT_QUIETS, keepsHistory: historyOfFindings };
  const again = await run(patient, plan, expectation);
  return { findings: judge(expectation, again), result: again, runs: 2 };
}
