// `npm run chaos -- FILE`: plays a scenario file on the containers of the compose form. `npm run chaos -- --losses N`: loses nodes of a compose cluster with default settings under load, measures how long each identity takes to run
// elsewhere, and judges by heartbeats and volumes whether two ever ran at once.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LOSS_KINDS, type LossKind, LossPlan } from '../../test/chaos/losses/plan.ts';
import { PLANTED, type PlantedName } from '../../test/chaos/losses/planted.ts';
import { brokenPromises, formatReport } from '../../test/chaos/losses/report.ts';
import { runLosses } from '../../test/chaos/losses/run.ts';
import { refusalsOf } from '../../test/chaos/play/refusals.ts';
import { playOnContainers } from '../../test/chaos/play/run.ts';
import { readScenario } from '../../test/scenario/files.ts';
import type { Scenario } from '../../test/scenario/model.ts';
import { ensureDocker } from '../setup/docker.ts';

/** Two runs at the same time do not meet. */
const PROJECT = `holdfast-chaos-${process.pid}`;
const listOf = (table: Readonly<Record<string, string>>): string =>
  Object.entries(table)
    .map(([name, text]) => `         ${name}: ${text}\n`)
    .join('');
const USAGE = `usage: npm run chaos -- FILE [--planted NAME,...|none]
                                             plays a scenario file (docs/scenarios.md); see also npm run hunt -- --scenario FILE
                                             --planted: with these bugs of docs/internals/planted-bugs.md, not that of the file
       npm run chaos -- --losses N [--seed SEED] [--minutes N] [--kinds NAME,...] [--planted NAME,...]
       --kinds: only these losses
${listOf(LOSS_KINDS)}       --planted: with these bugs in the containers
${listOf(Object.fromEntries(Object.entries(PLANTED).map(([name, { harm }]) => [name, harm])))}       --minutes: no loss begins later (60)
`;

const options = readOptions();
process.exit(options.file === undefined ? await lose(options) : await play(options.file, options.bugs));

async function lose({ losses, seed, minutes, kinds, planted }: LossSettings): Promise<number> {
  ensureDocker();
  say(`seed ${seed}${planted.length === 0 ? '' : `, with ${planted.join(' and ')}`}`);
  const report = await runLosses(PROJECT, { plan: new LossPlan(seed, kinds), losses, planted, minutes, say });
  say(formatReport(report));
  return judged(brokenPromises(report));
}

async function play(given: string, planted: string | undefined): Promise<number> {
  let scenario: Scenario;
  try {
    scenario = readScenario(path.resolve(process.env['INIT_CWD'] ?? '.', given));
  } catch (error) {
    say(`${given}: ${error instanceof Error ? error.message : String(error)}`);
    return 2;
  }
  const refusals = refusalsOf(scenario);
  for (const each of refusals) say(`${given}: ${each}`);
  if (refusals.length > 0) return 2;
  const bugs = bugsOf(scenario, planted);
  ensureDocker();
  say(`${scenario.name}${bugs.length === 0 ? '' : `, with ${bugs.join(' and ')}`}`);
  const { broken, load } = await playOnContainers(scenario, { project: PROJECT, say, planted: bugs });
  say(load);
  return judged(broken);
}

/** As the file says, unless the caller says something else. */
function bugsOf({ found }: Scenario, planted: string | undefined): readonly string[] {
  if (planted === 'none') return [];
  return planted?.split(',') ?? (found?.planted === undefined ? [] : [found.planted]);
}

function judged(broken: readonly string[]): number {
  for (const each of broken) say(`BROKEN: ${each}`);
  if (broken.length === 0) say('nothing is broken');
  return broken.length === 0 ? 0 : 1;
}

interface LossSettings {
  readonly losses: number;
  readonly seed: number;
  readonly minutes: number;
  readonly kinds: readonly LossKind[];
  readonly planted: readonly PlantedName[];
}

function readOptions(): LossSettings & { readonly file?: string; readonly bugs?: string | undefined } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        losses: { type: 'string' },
        seed: { type: 'string', default: '1' },
        minutes: { type: 'string', default: '60' },
        kinds: { type: 'string', default: Object.keys(LOSS_KINDS).join(',') },
        planted: { type: 'string' },
      },
    });
    return {
      ...fileOf(positionals),
      losses: positionals.length > 0 ? 0 : whole('losses', values.losses ?? ''),
      seed: whole('seed', values.seed),
      minutes: whole('minutes', values.minutes),
      kinds: namesOf<LossKind>('kinds', values.kinds, LOSS_KINDS),
      bugs: values.planted,
      planted:
        values.planted === undefined || positionals.length > 0
          ? []
          : namesOf<PlantedName>('planted', values.planted, PLANTED),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

function fileOf(positionals: readonly string[]): { readonly file?: string } {
  const [file, another] = positionals;
  if (another !== undefined) throw new Error(`one scenario file is played at a time, and ${another} is another one`);
  return file === undefined ? {} : { file };
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

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
