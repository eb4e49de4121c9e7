import { CONFIG_MAPS, PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSeededRandom, createSystemClock } from '@holdfast/platform';
import type { Scenario } from '../../scenario/model.ts';
import { planOf } from '../../scenario/plans.ts';
import { inWords } from '../../scenario/print.ts';
import { isFault } from '../../sim/hunt/kinds.ts';
import { whatIsLeft } from '../../sim/hunt/leftovers.ts';
import { APPS, type Step } from '../../sim/hunt/plan.ts';
import { waitFor } from '../../support/wait.ts';
import type { Request, Scenery } from '../clients/asking.ts';
import { Clients } from '../clients/clients.ts';
import { PatientClients } from '../clients/patient-clients.ts';
import type { Database } from '../database/database.ts';
import { ApiLoad } from '../losses/load.ts';
import type { Sign } from '../losses/signs.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { describePods } from '../support/workloads.ts';
import { beginStep, meantNow } from './actions.ts';
import { startAll } from './containers.ts';
import { brokenGrace, brokenSigns, endedAtOnce, readSigns } from './judge-signs.ts';
import { type Outage, outagesOf } from './outages.ts';
import { Recoveries } from './recoveries.ts';
import { renderRun } from './report.ts';
import { silencesOf } from './silences.ts';
import { type LoggedCommit, StoreLog } from './store-log.ts';
import { StoredRules } from './stored-rules.ts';
import { BrokenPromise, bringStraysBack, type End, kindOf } from './users.ts';
import { brokenViews } from './views.ts';
import { isWhole } from './whole.ts';
import { createApp, createOne, named } from './workloads.ts';

/** Whole for a moment is not whole. */
const STAYS_MS = 3_000;
const ASKED_AGAIN = 5;
const ASK_AGAIN_MS = 500;

/** A step as it was played; milliseconds after the workloads were up. */
export interface PlayedStep {
  readonly step: Step;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the checkers beside the containers say. */
export interface Verdict {
  /** Sentences about what must not be. Empty: everything holds. */
  readonly broken: readonly string[];
  readonly steps: readonly PlayedStep[];
  readonly signs: readonly Sign[];
  readonly commits: readonly LoggedCommit[];
  readonly requests: readonly Request[];
  readonly outages: readonly Outage[];
  /** Wall time of the moment when the workloads were up. */
  readonly beganAt: number;
  readonly beganMonotonic: number;
  readonly lengthMs: number;
  readonly load: string;
  /** A report for people. */
  readonly html: () => string;
}

interface Surroundings {
  readonly log: StoreLog;
  /** Absent: the scenario has none. */
  readonly database: Database | undefined;
  readonly say: (line: string) => void;
}

const clock = createSystemClock();

/** One run of a scenario on containers whose workloads are up. */
export class Play {
  readonly #cluster: ComposeCluster;
  readonly #scenario: Scenario;
  readonly #log: StoreLog;
  readonly #say: (line: string) => void;
  readonly #broken: string[] = [];
  readonly #steps: PlayedStep[] = [];
  readonly #recoveries: Recoveries;
  readonly #database: Database | undefined;
  readonly #beganAt = clock.now();
  readonly #began = clock.monotonic();
  #wholeSince: number | undefined;

  constructor(cluster: ComposeCluster, scenario: Scenario, { log, database, say }: Surroundings) {
    this.#cluster = cluster;
    this.#scenario = scenario;
    this.#log = log;
    this.#say = say;
    this.#database = database;
    this.#recoveries = new Recoveries(cluster.admin, say);
  }

  async run(): Promise<Verdict> {
    const { admin } = this.#cluster;
    const log = this.#log;
    const rules = new StoredRules(log.objects());
    const first = log.commits.length;
    const stopRules = log.onCommit((commit) => rules.observe(commit));
    const { seconds, expect } = this.#scenario;
    this.#say('everything runs; the schedule begins');
    await using load = new ApiLoad(admin);
    const patient = new PatientClients(this.#cluster.users);
    const clients = new Clients(sceneryOf(this.#cluster, this.#scenario), this.#scenario.workload.clients);
    await Promise.all(planOf(this.#scenario).steps.map((step) => this.#playStep(step)));
    await this.#sleepUntil(seconds);
    this.#broken.push(...(await this.#recoveries.late()));
    this.#say('the schedule is over');
    await startAll(this.#cluster);
    await this.#restore();
    const overMs = clock.monotonic();
    const whole = waitFor('everything to be whole', () => this.#isWholeAgain(overMs), expect.wholeWithin * 1000);
    await whole.catch(async () => {
      this.#broken.push(
        `not whole within ${expect.wholeWithin} s: ${whatIsLeft(log.state) ?? ''}\n${await describePods(admin).catch(String)}`,
      );
    });
    await Promise.all([load.stop(), clients.stop(), patient.stop(), this.#database?.stop()]);
    const told = await load.judge().catch((error: unknown) => void this.#broken.push(String(error)));
    await log.reach(await revisionNow(admin));
    await clients.finish(log);
    stopRules();
    const commits = log.commits.slice(first);
    const signs = readSigns(this.#cluster);
    const silences = silencesOf(this.#steps, this.#cluster.form, this.#began);
    this.#broken.push(
      ...log.broken(),
      ...(await brokenViews(this.#cluster, log)),
      ...clients.unheard(),
      ...(await brokenSigns(this.#cluster, this.#scenario, signs)),
      ...brokenGrace(this.#scenario, signs, commits),
      ...clients.broken(log, silences),
      ...(await patient.broken(admin, expect.answeredWithin)),
      ...((await this.#database?.broken()) ?? []),
      ...rules.broken(),
    );
    const verdict = {
      broken: this.#broken,
      steps: this.#steps,
      signs: [...signs.values()].flat(),
      commits,
      requests: clients.requests,
      outages: outagesOf(this.#steps, { patient, beganMs: this.#began, nowMs: clock.monotonic() }),
      beganAt: this.#beganAt,
      beganMonotonic: this.#began,
      lengthMs: this.#elapsedMs,
      load: [
        told ?? '',
        clients.facts(),
        patient.facts(),
        ...(this.#database === undefined ? [] : [this.#database.facts()]),
        endedAtOnce(signs),
        `${commits.length} commits`,
      ].join('\n'),
    };
    return { ...verdict, html: () => renderRun(this.#scenario, verdict) };
  }

  get #elapsedMs(): number {
    return clock.monotonic() - this.#began;
  }

  async #sleepUntil(seconds: number): Promise<void> {
    await clock.sleep(Math.max(0, seconds * 1000 - this.#elapsedMs));
  }

  async #playStep(planned: Step): Promise<void> {
    const { seconds } = this.#scenario;
    await this.#sleepUntil(planned.at);
    const step = await meantNow(this.#cluster.admin, planned).catch(() => planned);
    const until = Math.min(planned.at + (planned.for ?? 0), seconds);
    await this.#recoveries.expect(step, until - planned.at, this.#scenario.expect.recoverWithin);
    const fromMs = this.#elapsedMs;
    this.#say(inWords({ ...step, targets: [step.target] }));
    const begun = await this.#begin(step);
    // What could not begin, as a fault of a container that does not run, is not counted.
    if (begun === undefined) return;
    if (typeof begun.end === 'function') {
      // A fault that took long to begin lasts as long as it should.
      const late = this.#elapsedMs - fromMs;
      await this.#sleepUntil(Math.min(until + late / 1000, seconds));
      await this.#end(step, begun.end);
    }
    this.#steps.push({ step, fromMs, toMs: this.#elapsedMs });
  }

  /** A user asks again when nobody answers: the API server may be the one that a fault has met. */
  async #begin(step: Step): Promise<{ readonly end: End | void } | undefined> {
    for (let left = isFault(step.do) ? 0 : ASKED_AGAIN; ; left--) {
      try {
        return { end: await beginStep(this.#cluster, this.#scenario, step) };
      } catch (error) {
        if (left === 0) return this.#tell(step, error);
        await clock.sleep(ASK_AGAIN_MS);
      }
    }
  }

  /** What is no longer there, as the rules of a container that has ended meanwhile, needs no end. */
  async #end(step: Step, end: End): Promise<void> {
    await end().catch((error: unknown) => {
      if (error instanceof BrokenPromise) this.#broken.push(error.message);
      this.#tell(step, error);
    });
    this.#say(`  over: ${step.do} ${step.target}`);
  }

  #tell(step: Step, error: unknown): undefined {
    this.#say(`  ${step.do} ${step.target}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
  }

  /** Takes back what users have changed. */
  async #restore(): Promise<void> {
    const { replicas } = this.#scenario.workload;
    const { admin } = this.#cluster;
    for (const app of this.#removable()) await createApp(admin, this.#scenario, app).catch(() => {});
    await bringStraysBack(admin).catch(() => {});
    for (const [target, value] of Object.entries(replicas)) {
      const step: Step = { at: 0, do: 'scale', target, value };
      // API servers that were killed take their time to start on a busy machine.
      await waitFor(
        `${target} to be scaled`,
        () =>
          beginStep(this.#cluster, this.#scenario, step).then(
            () => true,
            () => false,
          ),
        this.#scenario.expect.wholeWithin * 1000,
      );
    }
  }

  async #isWholeAgain(overMs: number): Promise<boolean> {
    const { admin } = this.#cluster;
    await this.#createWhatIsGone();
    const isRight =
      (await isWhole(admin, this.#scenario)) &&
      whatIsLeft(this.#log.state) === undefined &&
      (this.#database === undefined || this.#database.isWhole(overMs));
    if (!isRight) this.#wholeSince = undefined;
    else this.#wholeSince ??= clock.monotonic();
    return this.#wholeSince !== undefined && clock.monotonic() - this.#wholeSince > STAYS_MS;
  }

  /** Applications that a user of the schedule has removed. Others have to be there. */
  #removable(): readonly string[] {
    const { schedule } = this.#scenario;
    return APPS.filter((app) => schedule.some((step) => REMOVES.has(step.do) && step.targets.includes(app)));
  }

  /**
   * Their user creates them again, as in the simulator: the pod without a controller, which goes with a lost node, and an
   * application whose deletion has ended late.
   */
  async #createWhatIsGone(): Promise<void> {
    const { admin } = this.#cluster;
    if ((await admin.find(PODS, named('one'))) === undefined) await createOne(admin, this.#scenario);
    for (const app of this.#removable())
      if ((await admin.find(kindOf(app), named(app))) === undefined) await createApp(admin, this.#scenario, app);
  }
}

const REMOVES: ReadonlySet<string> = new Set(['recreate-set', 'orphan-set']);

/** The clients of a run on containers, which draw from the seed. */
const sceneryOf = ({ users }: ComposeCluster, { seed }: Scenario): Scenery => ({
  users,
  random: createSeededRandom(seed, 'clients'),
  now: () => clock.monotonic(),
  sleep: (ms) => clock.sleep(ms),
});

async function revisionNow(admin: ApiClient): Promise<number> {
  return Number((await admin.list(CONFIG_MAPS, { namespace: 'default' })).resourceVersion);
}
