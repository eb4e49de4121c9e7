// `npm run hunt -- --minutes N --jobs 2`: plays fresh seeds of the simulator until the time is over. What breaks a rule is made small and written
// to hunt-found/. Each process plays some seeds and is replaced, so that memory stays flat.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { PLANTED_BUGS } from '../../test/sim/hunt/planted.mjs';
import { type PlantedRow, renderPlanted } from './planted-table.ts';

interface Report {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedSeconds: number;
  readonly scenario?: { readonly rule: string; readonly story: string };
}

const root = path.resolve(import.meta.dirname, '../..');
const FOUND = 'hunt-found';
const TABLE = 'docs/internals/planted-bugs.md';
const SEEDS_PER_PROCESS = 40;
const MINUTE_MS = 60_000;
const USAGE = `usage: npm run hunt -- [--minutes N] [--jobs N] [--from SEED]   plays fresh seeds
       npm run hunt -- --replay FILE                            plays a scenario file again
       npm run hunt -- --planted NAME|all [--seeds N]           hunts for planted bugs; all: writes ${TABLE}
`;

const options = readOptions();
const ended =
  options.replay !== undefined
    ? await replay(options.replay)
    : options.planted !== undefined
      ? await huntPlanted(options.planted)
      : await huntFresh();
process.exit(ended);

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '10' },
        jobs: { type: 'string', default: '1' },
        from: { type: 'string' },
        seeds: { type: 'string', default: '400' },
        replay: { type: 'string' },
        planted: { type: 'string' },
      },
    });
    const from = Number(values.from ?? Math.floor(Date.now() / 1000));
    const numbers = { minutes: Number(values.minutes), jobs: Number(values.jobs), seeds: Number(values.seeds), from };
    if (Object.values(numbers).some((number) => !(number > 0))) throw new Error('numbers have to be above 0');
    return { ...numbers, replay: values.replay, planted: values.planted };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

async function huntFresh(): Promise<number> {
  const { minutes, jobs, from } = options;
  const endAt = performance.now() + minutes * MINUTE_MS;
  const total = { seeds: 0, steps: 0, seconds: 0, found: 0 };
  let next = from;
  const job = async (): Promise<void> => {
    while (performance.now() < endAt) {
      const first = next;
      next += SEEDS_PER_PROCESS;
      await play({ command: 'hunt', first, count: SEEDS_PER_PROCESS, endAt }, (report) => {
        total.seeds += 1;
        total.steps += report.steps;
        total.seconds += report.simulatedSeconds;
        total.found += report.scenario === undefined ? 0 : 1;
        if (report.scenario !== undefined) keep(report);
      });
    }
  };
  await Promise.all(Array.from({ length: jobs }, job));
  say(`${total.seeds} seeds from ${from}, ${total.steps} steps, ${Math.round(total.seconds / 3600)} simulated hours`);
  say(total.found === 0 ? 'no rule was broken' : `${total.found} seeds broke a rule: see ${FOUND}/`);
  return total.found === 0 ? 0 : 1;
}

function keep({ seed, scenario }: Report): void {
  mkdirSync(path.join(root, FOUND), { recursive: true });
  const file = path.join(FOUND, `seed-${seed}.json`);
  writeFileSync(path.join(root, file), `${JSON.stringify(scenario, null, 2)}\n`);
  say(`seed ${seed}: ${scenario?.rule}\n  ${scenario?.story}\n  play it again: npm run hunt -- --replay ${file}`);
}

async function huntPlanted(which: string): Promise<number> {
  const bugs = PLANTED_BUGS.filter(({ name }) => which === 'all' || name === which);
  if (bugs.length === 0) {
    say(`there is no planted bug "${which}"; there are ${PLANTED_BUGS.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const rows: PlantedRow[] = [];
  for (const { name, harm } of bugs) {
    let seeds = 0;
    let rule: string | undefined;
    const work: Work = { command: 'plain', first: 1, count: options.seeds, planted: name };
    await play(work, (report) => {
      seeds += 1;
      rule = report.scenario?.rule;
    });
    rows.push({ name, harm, rule, seeds });
    say(`${name}: ${rule === undefined ? `not found in ${seeds} seeds` : `${rule}, after ${seeds} seeds`}`);
  }
  if (which === 'all') writeFileSync(path.join(root, TABLE), renderPlanted(rows));
  return rows.every(({ rule }) => rule !== undefined) ? 0 : 1;
}

async function replay(file: string): Promise<number> {
  const lines: string[] = [];
  await run(['replay', path.resolve(process.env['INIT_CWD'] ?? '.', file)], {}, (line) => lines.push(line));
  say(lines.join('\n'));
  return lines.some((line) => line.includes('"violation":{')) ? 1 : 0;
}

interface Work {
  readonly command: 'hunt' | 'plain';
  readonly first: number;
  readonly count: number;
  readonly endAt?: number;
  readonly planted?: string;
}

function play(work: Work, told: (report: Report) => void): Promise<void> {
  const { command, first, count, endAt, planted } = work;
  const args = [command, String(first), String(count), ...(planted === undefined ? [] : [planted])];
  return run(args, { planted, endAt }, (line) => told(JSON.parse(line) as Report));
}

/** One process, told line by line; ended when the time is over. */
async function run(
  args: readonly string[],
  { planted = '', endAt }: { readonly planted?: string | undefined; readonly endAt?: number | undefined },
  told: (line: string) => void,
): Promise<void> {
  const program = path.join(root, 'test/sim/hunt/worker-main.ts');
  const hook = `${pathToFileURL(path.join(root, 'test/sim/hunt/plant.mjs')).href}?bug=${planted}`;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--import', hook, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = endAt === undefined ? undefined : setTimeout(() => child.kill(), endAt - performance.now());
  for await (const line of createInterface(child.stdout)) told(line);
  clearTimeout(stop);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
