import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { PLANTED_BUGS } from '../../test/sim/hunt/planted.mjs';
import { type PlantedRow, renderPlanted } from './planted-table.ts';
import { type Report, runWorker } from './worker.ts';

export interface PlantedOptions {
  /** `all`, or names with commas between them. */
  readonly which: string;
  readonly seeds: number;
  /** The longest time for one bug. */
  readonly minutes: number;
  readonly jobs: number;
  /** Goes on after the seeds that the last hunt for a bug has played in vain. */
  readonly resumes: boolean;
  readonly say: (text: string) => void;
  /** The results so far, by bug. */
  readonly results: string;
  readonly table: string;
}

const MINUTE_MS = 60_000;

/**
 * Hunts for planted bugs with seeds from 1, and rewrites the table after each. Earlier results of other bugs stay in
 * it.
 */
export async function huntPlanted(options: PlantedOptions): Promise<number> {
  const { which, jobs, say } = options;
  const names = which === 'all' ? PLANTED_BUGS.map(({ name }) => name) : which.split(',');
  const unknown = names.filter((name) => PLANTED_BUGS.every((bug) => bug.name !== name));
  if (unknown.length > 0) {
    say(
      `there is no planted bug "${unknown.join('", "')}"; there are ${PLANTED_BUGS.map(({ name }) => name).join(', ')}`,
    );
    return 2;
  }
  const left = [...names];
  const rows: PlantedRow[] = [];
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  const job = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined && !over.signal.aborted; name = left.shift()) {
      const row = await huntOne(name, options, over.signal);
      say(inWords(row));
      rows.push(row);
      keep(row, options);
    }
  };
  await Promise.all(Array.from({ length: jobs }, job));
  const found = rows.filter(({ rule }) => rule !== undefined).length;
  say(`${found} of ${names.length} were found; see ${options.table}`);
  return found === names.length ? 0 : 1;
}

async function huntOne(name: string, options: PlantedOptions, stop: AbortSignal): Promise<PlantedRow> {
  const last = options.resumes ? readRows(options.results).find((each) => each.name === name) : undefined;
  let row: PlantedRow = last ?? { name, rule: undefined, seeds: 0, cpuSeconds: 0 };
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), options.minutes * MINUTE_MS);
  const signal = AbortSignal.any([stop, over.signal]);
  while (row.rule === undefined && row.seeds < options.seeds && !signal.aborted) {
    const args = [String(row.seeds + 1), String(Math.min(SEEDS_PER_PROCESS, options.seeds - row.seeds))];
    const work = { command: 'plain', args, planted: name, signal } as const;
    const end = await runWorker(work, (line) => (row = after(row, JSON.parse(line) as Report)));
    if (end !== undefined)
      row = { ...row, seeds: row.seeds + 1, rule: `the process ended: ${end.why.split('\n').at(-1)}` };
  }
  clearTimeout(timer);
  return row;
}

const SEEDS_PER_PROCESS = 200;

const after = (row: PlantedRow, { cpuMs, scenario }: Report): PlantedRow => ({
  name: row.name,
  rule: scenario?.rule,
  seeds: row.seeds + 1,
  cpuSeconds: Math.round((row.cpuSeconds + cpuMs / 1000) * 10) / 10,
});

const inWords = ({ name, rule, seeds, cpuSeconds }: PlantedRow): string =>
  `${name}: ${rule === undefined ? `not found in ${seeds} seeds` : `${rule}, seed ${seeds}`} (${cpuSeconds} s of CPU)`;

const readRows = (results: string): readonly PlantedRow[] =>
  existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as PlantedRow[]) : [];

/** A bug that is no longer planted is left out. */
function keep(row: PlantedRow, { results, table }: PlantedOptions): void {
  const known = readRows(results);
  const rows = PLANTED_BUGS.flatMap(({ name }) => [row, ...known].find((each) => each.name === name) ?? []);
  writeFileSync(results, `${JSON.stringify(rows, null, 2)}\n`);
  const harms = new Map(PLANTED_BUGS.map(({ name, harm }) => [name, harm]));
  writeFileSync(table, renderPlanted(rows, harms));
}
