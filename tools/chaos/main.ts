// `npm run chaos -- --losses N`: loses nodes of a compose cluster with default settings under load, measures how long each identity takes to run
// elsewhere, and judges by heartbeats and volumes whether two ever ran at once.
import { parseArgs } from 'node:util';
import { LOSS_KINDS, type LossKind, LossPlan } from '../../test/chaos/losses/plan.ts';
import { PLANTED, type PlantedName } from '../../test/chaos/losses/planted.ts';
import { brokenPromises, formatReport } from '../../test/chaos/losses/report.ts';
import { runLosses } from '../../test/chaos/losses/run.ts';
import { ensureDocker } from '../setup/docker.ts';

const PROJECT = 'holdfast-losses';
const listOf = (table: Readonly<Record<string, string>>): string =>
  Object.entries(table)
    .map(([name, text]) => `         ${name}: ${text}\n`)
    .join('');
const USAGE = `usage: npm run chaos -- --losses N [--seed SEED] [--minutes N] [--kinds NAME,...] [--planted NAME,...]
       --kinds: only these losses
${listOf(LOSS_KINDS)}       --planted: with these bugs in the containers
${listOf(Object.fromEntries(Object.entries(PLANTED).map(([name, { harm }]) => [name, harm])))}       --minutes: no loss begins later (60)
`;

const { losses, seed, minutes, kinds, planted } = readOptions();
ensureDocker();
say(`seed ${seed}${planted.length === 0 ? '' : `, with ${planted.join(' and ')}`}`);
const report = await runLosses(PROJECT, { plan: new LossPlan(seed, kinds), losses, planted, minutes, say });
say(formatReport(report));
const broken = brokenPromises(report);
for (const each of broken) say(`BROKEN: ${each}`);
process.exit(broken.length === 0 ? 0 : 1);

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        losses: { type: 'string' },
        seed: { type: 'string', default: '1' },
        minutes: { type: 'string', default: '60' },
        kinds: { type: 'string', default: Object.keys(LOSS_KINDS).join(',') },
        planted: { type: 'string', default: '' },
      },
    });
    return {
      losses: whole('losses', values.losses ?? ''),
      seed: whole('seed', values.seed),
      minutes: whole('minutes', values.minutes),
      kinds: namesOf<LossKind>('kinds', values.kinds, LOSS_KINDS),
      planted: values.planted === '' ? [] : namesOf<PlantedName>('planted', values.planted, PLANTED),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
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
