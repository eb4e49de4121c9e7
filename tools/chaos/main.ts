// `npm run chaos -- FILE...`: plays scenario files on the containers of the compose form. `npm run chaos -- --losses N`: loses nodes of a compose cluster with default settings under load, measures how long each identity takes to run
// elsewhere, and judges by heartbeats and volumes whether two ever ran at once.
import { globSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LOSS_KINDS, type LossKind, LossPlan } from '../../test/chaos/losses/plan.ts';
import { PLANTED, type PlantedName } from '../../test/chaos/losses/planted.ts';
import { brokenPromises, formatReport } from '../../test/chaos/losses/report.ts';
import { runLosses } from '../../test/chaos/losses/run.ts';
import { removeComposeClusters } from '../../test/chaos/support/compose-cluster.ts';
import type { FormName } from '../../test/chaos/support/compose-form.ts';
import { ensureDocker } from '../setup/docker.ts';
import { ensurePrograms } from '../setup/packages.ts';
import { drawScenarios, type Played, playAll, readFiles, repeated, type Work } from './files.ts';
import { appendLine, readLines } from './json-lines.ts';
import { LOG_USAGE, runLogCampaigns } from './log-campaign.ts';
import { notePlantedRuns } from './planted-runs.ts';
import { formatPlayed, type PlayedSlice, sliceOf } from './played-slices.ts';

const SCENARIOS = path.resolve(import.meta.dirname, '../../test/chaos/scenarios');
/** Schedules of planted bugs are played with `--planted both`. */
const SUITE = ['*.yaml', 'zones/*.yaml', 'controls/*.yaml'];
/** Two runs at the same time do not meet. */
const PROJECT = `holdfast-chaos-${process.pid}`;
const INTERRUPTED = 130;
const listOf = (table: Readonly<Record<string, string>>): string =>
  Object.entries(table)
    .map(([name, text]) => `         ${name}: ${text}\n`)
    .join('');
const USAGE = `usage: npm run chaos -- FILE...|--all|--random N [--seed SEED] [--form S|H] [--times N] [--planted NAME,...|none|both] [--html FOLDER] [--slices FILE]
                     plays scenario files (docs/scenarios.md), all of test/chaos/scenarios, or N schedules that are drawn from the seed
                     --planted: with these bugs of docs/internals/planted-bugs.md, without that of the file, or both ways
                     --html: writes a report of each run
                     --form: draws them for one Redis (S) or for three zones (H); a file says its form itself
                     --json: one JSON document for each that was played, and one for the end
                     --times: each again and again, with the next seeds
                     --slices: adds what was played to this file, and reports all that is in it
       npm run chaos -- --losses N [--seed SEED] [--minutes N] [--kinds NAME,...] [--planted NAME,...] [--database]
       --database: a clustered database runs on the nodes as well (docs/scenarios.md)
       --kinds: only these losses
${listOf(LOSS_KINDS)}       --planted: with these bugs in the containers
${listOf(Object.fromEntries(Object.entries(PLANTED).map(([name, { harm }]) => [name, harm])))}       --minutes: no loss begins later (60)
${LOG_USAGE}`;

if (process.argv.includes('--log')) process.exit(await playOnLog());
let ending: Promise<never> | undefined;
const options = readOptions();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endEarly());
for (const output of [process.stdout, process.stderr]) {
  // Nobody reads it any more, as behind `head`.
  output.once('error', () => void endEarly());
  // Later lines are lost, and the containers are removed all the same.
  output.on('error', () => {});
}
const outcome = 'losses' in options ? lose(options.losses) : playScenarios(options.play);
// A start that fails because its containers are removed is not the end: the removal is.
const code = await outcome.catch(async (error: unknown) => {
  await ending;
  throw error;
});
await ending;
process.exit(code);

/** A second signal ends the process at once. An output that nobody reads any more is no second reason: the removal goes on. */
function endEarly(): Promise<never> {
  ending ??= (async () => {
    say('the containers are removed');
    await removeComposeClusters();
    return process.exit(INTERRUPTED);
  })();
  return ending;
}

async function playOnLog(): Promise<number> {
  try {
    return await runLogCampaigns(process.argv.slice(2), print);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return 2;
  }
}

async function lose({ losses, seed, minutes, kinds, planted, hasDatabase }: LossSettings): Promise<number> {
  ensureDocker();
  if (hasDatabase) ensurePrograms(['nats-server-next']);
  say(`seed ${seed}${planted.length === 0 ? '' : `, with ${planted.join(' and ')}`}`);
  const report = await runLosses(PROJECT, {
    plan: new LossPlan(seed, kinds),
    losses,
    planted,
    minutes,
    hasDatabase,
    say,
  });
  say(formatReport(report));
  return judged(brokenPromises(report));
}

async function playScenarios(settings: PlaySettings): Promise<number> {
  let works: readonly Work[];
  try {
    works = worksOf(settings);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
  ensureDocker();
  const { slices, isJson } = settings;
  const onPlayed = (each: Played): void => {
    if (isJson) print(JSON.stringify(documentOf(each)));
    if (slices !== undefined) appendLine(slices, sliceOf(each));
  };
  const played = await playAll(works, { project: PROJECT, say, reports: settings.reports, onPlayed });
  if (settings.planted === 'both') notePlantedRuns(played);
  const wrong = played.filter(({ verdict }) => verdict === undefined || verdict.broken.length > 0);
  say(formatPlayed(slices === undefined ? played.map(sliceOf) : readLines<PlayedSlice>(slices)));
  if (isJson) print(JSON.stringify({ event: 'end', played: played.length, broken: wrong.length }));
  return wrong.length === 0 ? 0 : 1;
}

const documentOf = ({ name, scenario, bugs, verdict }: Played): object => ({
  event: 'played',
  file: name,
  scenario: scenario.name,
  bugs,
  holds: verdict !== undefined && verdict.broken.length === 0,
  broken: verdict?.broken ?? ['the run failed'],
});

/** The bug of a file is that in which it was found, unless the caller says something else. */
function worksOf({ files, random, seed, form, times, planted }: PlaySettings): readonly Work[] {
  const works = repeated(random > 0 ? drawScenarios(random, seed, form) : readFiles(files), times);
  if (planted === undefined) return works;
  if (planted === 'both')
    return works.flatMap((work) => (work.bugs.length === 0 ? [work] : [{ ...work, bugs: [] }, work]));
  const bugs = planted === 'none' ? [] : planted.split(',');
  return works.map((work) => ({ ...work, bugs }));
}

function judged(broken: readonly string[]): number {
  for (const each of broken) say(`BROKEN: ${each}`);
  if (broken.length === 0) say('nothing is broken');
  return broken.length === 0 ? 0 : 1;
}

interface PlaySettings {
  readonly files: readonly string[];
  readonly random: number;
  readonly seed: number;
  readonly form: FormName;
  readonly times: number;
  readonly planted: string | undefined;
  readonly reports: string | undefined;
  readonly slices: string | undefined;
  readonly isJson: boolean;
}

interface LossSettings {
  readonly losses: number;
  readonly seed: number;
  readonly minutes: number;
  readonly kinds: readonly LossKind[];
  readonly planted: readonly PlantedName[];
  readonly hasDatabase: boolean;
}

function readOptions(): { readonly losses: LossSettings } | { readonly play: PlaySettings } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        all: { type: 'boolean', default: false },
        random: { type: 'string' },
        losses: { type: 'string' },
        seed: { type: 'string', default: '1' },
        minutes: { type: 'string', default: '60' },
        form: { type: 'string', default: 'S' },
        times: { type: 'string', default: '1' },
        kinds: { type: 'string', default: Object.keys(LOSS_KINDS).join(',') },
        planted: { type: 'string' },
        database: { type: 'boolean', default: false },
        html: { type: 'string' },
        slices: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const { planted } = values;
    const seed = whole('seed', values.seed);
    const files = [...(values.all ? suiteFiles() : []), ...positionals.map(fromHere)];
    if (files.length > 0 || values.random !== undefined) {
      const reports = values.html === undefined ? undefined : fromHere(values.html);
      const slices = values.slices === undefined ? undefined : fromHere(values.slices);
      const random = values.random === undefined ? 0 : whole('random', values.random);
      const [form, times] = [formNamed(values.form), whole('times', values.times)];
      return { play: { files, random, seed, form, times, planted, reports, slices, isJson: values.json } };
    }
    const losses = {
      losses: whole('losses', values.losses ?? ''),
      seed,
      minutes: whole('minutes', values.minutes),
      kinds: namesOf<LossKind>('kinds', values.kinds, LOSS_KINDS),
      planted: planted === undefined ? [] : namesOf<PlantedName>('planted', planted, PLANTED),
      hasDatabase: values.database,
    };
    return { losses };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

function formNamed(name: string): FormName {
  if (name === 'S' || name === 'H') return name;
  throw new Error(`--form ${name} is unknown; there are S and H`);
}

/** The files of the suite. */
function suiteFiles(): readonly string[] {
  return SUITE.flatMap((pattern) => globSync(pattern, { cwd: SCENARIOS }).toSorted()).map((file) =>
    path.join(SCENARIOS, file),
  );
}

/** A path as the user wrote it. */
function fromHere(file: string): string {
  return path.resolve(process.env['INIT_CWD'] ?? '.', file);
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} ${text} is not a whole number above 0`);
  return value;
}

function namesOf<T extends string>(option: string, text: string, known: Readonly<Record<T, unknown>>): readonly T[] {
  const isKnown = (name: string): name is T => Object.hasOwn(known, name);
  return text.split(',').map((name) => {
    if (!isKnown(name)) throw new Error(`--${option} ${name} is unknown`);
    return name;
  });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** With --json the output is for programs, and this is beside it. */
function say(text: string): void {
  if ('play' in options && options.play.isJson) process.stderr.write(`${text}\n`);
  else print(text);
}
