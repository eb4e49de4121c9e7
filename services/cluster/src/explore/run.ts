import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Clock, describeError, OperatorError } from '@holdfast/platform';
import type { Change } from '@holdfast/store';
import { RunningCluster } from '../cluster.ts';
import type { HistoryChange } from '../history.ts';
import type { SnapshotContent } from '../snapshot.ts';
import { actOn } from './apply.ts';
import { differencesOf, type EndState, endStateOf, type Mask } from './end-state.ts';
import { Faults } from './faults.ts';
import { Ledger } from './ledger.ts';
import type { Plan } from './plans.ts';
import { Program } from './program.ts';
import { settled } from './settling.ts';
import { neverRests, type Stage } from './stages.ts';
import { Trace } from './trace.ts';
import type { Workload } from './workload.ts';

/** The user of the operator in its kubeconfig. */
export const OPERATOR_USER = 'operator';

export interface RunSettings {
  readonly from: SnapshotContent;
  readonly workload: Workload;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly quietMs: number;
  readonly startWithinMs: number;
  readonly seed: number;
  /** The result has the history of the cluster. */
  readonly keepsHistory?: boolean;
  /** `plan 3`. */
  readonly title: string;
  readonly onStage?: ((stage: Stage) => void) | undefined;
  /** Rejects as soon as the operator does not rest in time. */
  readonly mustRest?: boolean;
  /** Ends the operator and the run at once. */
  readonly signal?: AbortSignal | undefined;
}

/** What the runs without a fault led to. */
export interface Expectation {
  /** After each step. */
  readonly states: readonly EndState[];
  readonly masks: readonly Mask[];
}

export interface RunResult {
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly states: readonly EndState[];
  readonly hasSettled: boolean;
  readonly crashes: number;
  readonly lastExit: string;
  readonly output: string;
  /** When the fault came, in milliseconds. Absent: the moment of the plan did not come. */
  readonly faultMs: number | undefined;
  /** The changes of the cluster; none where nobody asked for them, or where they could not be read. */
  readonly history: readonly HistoryChange[];
  /** Why the history could not be read. */
  readonly historyFailure?: string;
}

/** A whole run of the workload with the operator, on a fork of the prepared cluster. */
export async function run(
  settings: RunSettings,
  plan: Plan | undefined,
  expectation: Expectation | undefined,
): Promise<RunResult> {
  const { from, seed, signal } = settings;
  signal?.throwIfAborted();
  const cluster = await RunningCluster.start({
    ...from,
    options: { ...from.options, clock: 'real', https: true, seed },
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-explore-'));
  try {
    const kubeconfig = path.join(folder, 'kubeconfig');
    await writeFile(kubeconfig, cluster.access({ name: OPERATOR_USER, groups: ['system:masters'] }).kubeconfig);
    await chmod(kubeconfig, 0o600);
    const { command, clock } = settings;
    const env = { ...settings.env, KUBECONFIG: kubeconfig };
    const program = new Program({ command, clock, env, signal, onStart: () => trial.started() });
    const trial: Trial = new Trial(cluster, program, settings, expectation);
    return await trial.run(plan);
  } finally {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const SHORT_MS = 100;
/** The last look is a patient one: an operator may wait between its tries. */
const LAST_QUIETS = 3;
const DEADLINE_QUIETS = 30;

class Trial {
  readonly #cluster: RunningCluster;
  readonly #program: Program;
  readonly #settings: RunSettings;
  readonly #expectation: Expectation | undefined;
  readonly #trace: Trace;
  readonly #ledger = new Ledger();
  readonly #base: ReadonlyMap<string, number>;
  /** The requests before the latest start of the program. */
  #atStart = 0;
  #startedMs = 0;
  #starts = 0;
  #looks = 0;

  constructor(cluster: RunningCluster, program: Program, settings: RunSettings, expectation: Expectation | undefined) {
    this.#cluster = cluster;
    this.#program = program;
    this.#settings = settings;
    this.#expectation = expectation;
    this.#base = new Map(settings.from.state.objects.map(({ key, revision }) => [key, revision]));
    this.#trace = new Trace(() => true);
    const { filter } = this.#trace;
    cluster.filters.unshift((request, next) =>
      cluster.isOf({ user: OPERATOR_USER }, request) ? filter(request, next) : next(request),
    );
  }

  started(): void {
    this.#starts += 1;
    this.#atStart = this.#trace.requests;
    this.#startedMs = this.#settings.clock.monotonic();
  }

  async run(plan: Plan | undefined): Promise<RunResult> {
    const ending = new AbortController();
    const following = this.#follow(await this.#cluster.changes(ending.signal));
    const faults = new Faults({
      cluster: this.#cluster,
      program: this.#program,
      trace: this.#trace,
      user: OPERATOR_USER,
      clock: this.#settings.clock,
    });
    try {
      if (plan !== undefined) await faults.prepare(plan);
      await this.#begin();
      const { states, hasSettled } = await this.#steps(faults);
      const { crashes, lastExit, output } = this.#program;
      const told = { faultMs: faults.beganMs, ...(await this.#history()) };
      return { trace: this.#trace, ledger: this.#ledger, states, hasSettled, crashes, lastExit, output, ...told };
    } finally {
      await this.#program.end();
      ending.abort();
      await following;
    }
  }

  /** What the run found counts also without its history. */
  async #history(): Promise<Pick<RunResult, 'history' | 'historyFailure'>> {
    if (this.#settings.keepsHistory !== true) return { history: [] };
    try {
      return { history: await this.#cluster.history() };
    } catch (error) {
      return { history: [], historyFailure: describeError(error) };
    }
  }

  async #steps(faults: Faults): Promise<Pick<RunResult, 'states' | 'hasSettled'>> {
    const { steps } = this.#settings.workload;
    const states: EndState[] = [];
    let hasSettled = true;
    for (const [i, step] of steps.entries()) {
      this.#trace.step = i;
      this.#trace.note(`step ${i + 1}: ${step.verb} ${step.object.kind} ${step.object.metadata.name}`);
      await actOn(this.#cluster.fetch, step);
      const isLast = i === steps.length - 1;
      if (step.waits || isLast) {
        await this.#rest(i, { isLast: false });
        await faults.afterStep(i, () => this.#rest(i, { isLast: false }));
      }
      if (isLast) {
        faults.end();
        hasSettled = await this.#rest(i, { isLast: true });
      }
      states.push(await this.#state());
    }
    return { states, hasSettled };
  }

  /** Waits for the state of the reference, or until nothing happens. */
  async #rest(step: number, { isLast }: { readonly isLast: boolean }): Promise<boolean> {
    const { clock, signal, quietMs, startWithinMs, onStage, mustRest = false } = this.#settings;
    const wanted = this.#expectation?.states[step];
    const mask = this.#expectation?.masks[step] ?? new Set<string>();
    const begun = clock.monotonic();
    const stage = this.#stageFrom(step, begun);
    onStage?.(stage());
    const longQuietMs = isLast ? quietMs * LAST_QUIETS : quietMs;
    const hasSettled = await settled({
      clock,
      signal,
      activity: () => this.#trace.activity.total + this.#ledger.activity.total + this.#looksAtStart(),
      isExpected: async () => wanted !== undefined && differencesOf(wanted, await this.#state(), mask).length === 0,
      onWait: () => onStage?.(stage()),
      shortMs: Math.min(SHORT_MS, quietMs),
      quietMs: longQuietMs,
      deadlineMs: quietMs * DEADLINE_QUIETS + (this.#starts > 1 ? startWithinMs : 0),
    });
    if (!hasSettled && mustRest) throw neverRests(stage(), longQuietMs);
    return hasSettled;
  }

  /** What happens from now on at this step. */
  #stageFrom(index: number, begun: number): () => Stage {
    const { clock, title, workload } = this.#settings;
    const { steps } = workload;
    const step = steps[index];
    const { kind, metadata } = step?.object ?? {};
    const at =
      step === undefined
        ? 'the operator starts'
        : `step ${index + 1} of ${steps.length}: ${step.verb} ${kind} ${metadata?.name}`;
    const [traced, changed] = [this.#trace.activity.counts(), this.#ledger.activity.counts()];
    return () => ({
      run: title,
      at,
      waitedMs: clock.monotonic() - begun,
      mostOften: this.#trace.activity.mostOftenSince(traced) ?? this.#ledger.activity.mostOftenSince(changed),
    });
  }

  /** A program that loads does not rest, although nothing is heard of it. */
  #looksAtStart(): number {
    const { clock, startWithinMs } = this.#settings;
    const isLoading = this.#trace.requests === this.#atStart && clock.monotonic() - this.#startedMs < startWithinMs;
    if (isLoading) this.#looks += 1;
    return this.#looks;
  }

  async #state(): Promise<EndState> {
    const { content } = await this.#cluster.snapshot();
    return endStateOf(content.state.objects, this.#base);
  }

  async #begin(): Promise<void> {
    const { clock, signal, startWithinMs } = this.#settings;
    this.#program.start();
    const giveUpAt = clock.monotonic() + startWithinMs;
    while (this.#trace.requests === 0) {
      if (this.#program.failure !== undefined) throw this.#program.failure;
      if (this.#program.crashes > 1 || clock.monotonic() > giveUpAt) throw this.#neverStarted();
      await clock.sleep(10, signal);
    }
    await this.#rest(-1, { isLast: false });
  }

  #neverStarted(): OperatorError {
    const { crashes, lastExit, output } = this.#program;
    const what =
      crashes > 0 ? `ended with ${lastExit}` : `sent no request within ${this.#settings.startWithinMs / 1_000} s`;
    const lines = output.trim().split('\n').slice(-5).join('\n  ');
    return new OperatorError({
      code: 'OperatorNotStarted',
      message: `the operator ${what}`,
      nextStep: `It gets its cluster by the variable KUBECONFIG.${lines === '' ? ' It printed nothing.' : ` It printed:\n  ${lines}`}`,
    });
  }

  async #follow(changes: AsyncIterable<readonly Change[]>): Promise<void> {
    for await (const page of changes) for (const change of page) this.#ledger.take(change);
  }
}
