import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { movesClocks } from '../../test/chaos/play/clocks.ts';
import { fitForContainers } from '../../test/chaos/play/fit.ts';
import type { Verdict } from '../../test/chaos/play/play.ts';
import { canForm, refusalsOf } from '../../test/chaos/play/refusals.ts';
import { Session } from '../../test/chaos/play/run.ts';
import { composeFormOf, type FormName } from '../../test/chaos/support/compose-form.ts';
import { CLIENTS_OF_RANDOM } from '../../test/scenario/clients.ts';
import { countedAgainst } from '../../test/scenario/control.ts';
import { readScenario } from '../../test/scenario/files.ts';
import type { Scenario } from '../../test/scenario/model.ts';
import { scenarioOf } from '../../test/scenario/plans.ts';
import { printScenario } from '../../test/scenario/print.ts';
import { planOf } from '../../test/sim/hunt/plan.ts';
import { ensureCompiler, ensurePrograms } from '../setup/packages.ts';

/** One scenario to play, with these bugs. */
export interface Work {
  /** The file, or the seed. */
  readonly name: string;
  readonly scenario: Scenario;
  readonly bugs: readonly string[];
  /** One of the checked-in schedules of planted bugs. */
  readonly isOfSuite: boolean;
}

export interface Played extends Work {
  /** `undefined`: the run itself failed. */
  readonly verdict: Verdict | undefined;
}

const WHOLE_WITHIN_SECONDS = 240;
const PLANTED = path.resolve(import.meta.dirname, '../../test/chaos/scenarios/planted');

/** Reads the files. Throws what is wrong with one of them, or why containers cannot play it. */
export function readFiles(files: readonly string[]): readonly Work[] {
  return files.map((file) => {
    const name = path.basename(file);
    try {
      const scenario = readScenario(file);
      const refusals = refusalsOf(scenario);
      if (refusals.length > 0) throw new Error(refusals.join('\n'));
      const bugs = scenario.found?.planted === undefined ? [] : [scenario.found.planted];
      return { name, scenario, bugs, isOfSuite: path.dirname(file) === PLANTED };
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  });
}

/** Each again and again, with the next seeds. */
export const repeated = (works: readonly Work[], times: number): readonly Work[] =>
  times === 1
    ? works
    : works.flatMap((work) =>
        Array.from({ length: times }, (_, i) => {
          const { name, ext } = path.parse(work.name);
          return {
            ...work,
            name: `${name}-${i + 1}${ext}`,
            scenario: { ...work.scenario, seed: work.scenario.seed + i },
          };
        }),
      );

/** Schedules of the hunt's short profile with what containers can do of them, and clients beside them. */
export function drawScenarios(count: number, seed: number, form: FormName): readonly Work[] {
  return Array.from({ length: count }, (_, i) => {
    const plan = fitForContainers(planOf(seed + i, 'short'), (kind) => canForm(kind, form), form);
    const scenario = scenarioOf(plan, { name: `seed ${seed + i} on containers of form ${form}` });
    const workload = { ...scenario.workload, clients: CLIENTS_OF_RANDOM };
    const expect = { ...scenario.expect, wholeWithin: WHOLE_WITHIN_SECONDS };
    return {
      name: `seed-${seed + i}-${form}`,
      scenario: { ...scenario, workload, expect },
      bugs: [],
      isOfSuite: false,
    };
  });
}

export interface PlayFilesOptions {
  readonly project: string;
  readonly say: (line: string) => void;
  /** Where the report of each run is written. */
  readonly reports: string | undefined;
  readonly onPlayed?: ((played: Played) => void) | undefined;
}

/** Plays one after the other. Those of one form share their containers, until a run leaves them unusable. */
export async function playAll(works: readonly Work[], options: PlayFilesOptions): Promise<readonly Played[]> {
  const played: Played[] = [];
  for (const { form, selfFencing } of SETTINGS) {
    const own = works.filter(
      ({ scenario }) => scenario.form.selfFencing === selfFencing && composeFormOf(scenario.form) === form,
    );
    const bugs = [...new Set(own.flatMap((work) => work.bugs))];
    const ownClocks = own.some(({ scenario }) => movesClocks(scenario));
    if (ownClocks) ensureCompiler();
    if (own.some(({ scenario }) => scenario.workload.database > 0)) ensurePrograms(['nats-server-next']);
    let session: Session | undefined;
    for (const [index, work] of own.entries()) {
      session ??= await Session.start({ ...options, form, bugs, selfFencing, ownClocks });
      const result = await playOne(session, work, options);
      played.push(result);
      const isUsable = result.verdict !== undefined && index < own.length - 1 && (await clears(session, work, options));
      if (isUsable) continue;
      await session[Symbol.asyncDispose]();
      session = undefined;
    }
  }
  return played;
}

const SETTINGS = (['S', 'H'] as const).flatMap((form) => [true, false].map((selfFencing) => ({ form, selfFencing })));

async function playOne(session: Session, work: Work, options: PlayFilesOptions): Promise<Played> {
  const { say, reports, onPlayed } = options;
  const { scenario, bugs } = work;
  say(`${scenario.name}${bugs.length === 0 ? '' : `, with ${bugs.join(' and ')}`}`);
  const found = await session.play(scenario, bugs).catch((error: unknown) => {
    say(`the run failed: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  });
  if (found !== undefined) say(found.load);
  for (const each of found?.broken ?? []) say(`BROKEN: ${each}`);
  if (found?.broken.length === 0) say('nothing is broken');
  const verdict = found && { ...found, broken: countedAgainst(scenario, found.broken) };
  if (reports !== undefined && verdict !== undefined) writeReport(reports, work, verdict);
  const played = { ...work, verdict };
  onPlayed?.(played);
  return played;
}

async function clears(session: Session, { scenario }: Work, { say }: PlayFilesOptions): Promise<boolean> {
  return session.clear(scenario).then(
    () => true,
    (error: unknown) => {
      say(`the containers are started anew: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    },
  );
}

function writeReport(folder: string, { name, scenario, bugs }: Work, verdict: Verdict): void {
  mkdirSync(folder, { recursive: true });
  const base = path.join(folder, `${path.parse(name).name}${bugs.length === 0 ? '' : `-with-${bugs.join('-')}`}`);
  writeFileSync(`${base}.yaml`, printScenario(scenario));
  writeFileSync(`${base}.html`, verdict.html());
}
