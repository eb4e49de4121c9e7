import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { editsOf, PLANTED_BUGS, plantInto } from '../../test/sim/hunt/planted.mjs';
import { type PlantedRow, renderPlanted } from './planted-table.ts';
import { type Report, runWorker } from './worker.ts';

export interface PlantedOptions {
  /** `all`, or names with commas between them. */
  readonly which: string;
  readonly seeds: number;
  /** The longest time for one bug. */
  readonly minutes: number;
  readonly jobs: number;
  /** How many bugs are planted at once. */
  readonly together: number;
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
  const left = groupsOf(names, options.together);
  const rows: PlantedRow[] = [];
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  const job = async (): Promise<void> => {
    for (let group = left.shift(); group !== undefined && !over.signal.aborted; group = left.shift()) {
      for (const row of await new Group(group, options).hunt(over.signal)) {
        say(inWords(row));
        rows.push(row);
      }
    }
  };
  await Promise.all(Array.from({ length: jobs }, job));
  const found = rows.filter(({ rule }) => rule !== undefined).length;
  say(`${found} of ${names.length} were found; see ${options.table}`);
  return found === names.length ? 0 : 1;
}

/** Bugs that change different places of the sources, at most so many in a group. */
function groupsOf(names: readonly string[], size: number): string[][] {
  const groups: string[][] = [];
  for (const name of names) {
    const group = groups.find((each) => each.length < size && fitTogether([...each, name]));
    if (group === undefined) groups.push([name]);
    else group.push(name);
  }
  return groups;
}

function fitTogether(names: readonly string[]): boolean {
  const sources = new Map<string, string>();
  const edits = PLANTED_BUGS.filter(({ name }) => names.includes(name)).flatMap(editsOf);
  try {
    for (const edit of edits) {
      const source = sources.get(edit.file) ?? readFileSync(path.join(ROOT, edit.file), 'utf8');
      sources.set(edit.file, plantInto(edit, source));
    }
    return true;
  } catch {
    return false;
  }
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const SEEDS_PER_PROCESS = 200;
const ONE_SEED_MS = 3 * MINUTE_MS;

/**
 * Plays seeds with several planted bugs at once. A seed that breaks a rule is played again with each of them alone, so
 * that bugs that are hard to find share the seeds that are played in vain.
 */
class Group {
  readonly #options: PlantedOptions;
  readonly #rows: Map<string, PlantedRow>;

  constructor(names: readonly string[], options: PlantedOptions) {
    this.#options = options;
    const last = options.resumes ? readRows(options.results) : [];
    const rowOf = (name: string): PlantedRow =>
      last.find((each) => each.name === name) ?? { name, rule: undefined, seeds: 0, cpuSeconds: 0 };
    this.#rows = new Map(names.map((name) => [name, rowOf(name)]));
  }

  async hunt(stop: AbortSignal): Promise<readonly PlantedRow[]> {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), this.#options.minutes * MINUTE_MS);
    const signal = AbortSignal.any([stop, over.signal]);
    while (this.#left().length > 0 && this.#seedsPlayed() < this.#options.seeds && !signal.aborted) {
      const failing = await this.#playTogether(signal);
      if (failing === undefined) continue;
      for (const name of this.#left()) if (!stop.aborted) await this.#playAlone(name, failing);
    }
    clearTimeout(timer);
    return [...this.#rows.values()];
  }

  #left(): readonly string[] {
    return [...this.#rows.values()].filter(({ rule }) => rule === undefined).map(({ name }) => name);
  }

  #seedsPlayed(): number {
    return Math.min(...this.#left().map((name) => this.#rows.get(name)?.seeds ?? 0));
  }

  /** Resolves with the seed that fails. */
  async #playTogether(signal: AbortSignal): Promise<number | undefined> {
    const left = this.#left();
    const first = this.#seedsPlayed() + 1;
    let failing: number | undefined;
    let next = first;
    const count = Math.min(SEEDS_PER_PROCESS, this.#options.seeds - first + 1);
    const work = {
      command: 'plain',
      args: [String(first), String(count)],
      planted: left.join(','),
      signal,
      silentMs: ONE_SEED_MS,
    } as const;
    const end = await runWorker(work, (line) => {
      const { seed, scenario, cpuMs } = JSON.parse(line) as Report;
      next = seed + 1;
      if (scenario !== undefined) failing = seed;
      for (const name of left) this.#note(name, { seeds: seed, cpuMs: cpuMs / left.length });
    });
    return end === undefined ? failing : next;
  }

  async #playAlone(name: string, seed: number): Promise<void> {
    const work = { command: 'plain', args: [String(seed), '1'], planted: name, silentMs: ONE_SEED_MS } as const;
    const end = await runWorker(work, (line) => {
      const { scenario, cpuMs } = JSON.parse(line) as Report;
      this.#note(name, { seeds: seed, cpuMs, rule: scenario?.found?.rule });
    });
    const rule = `the process ended: ${end?.why.split('\n').at(-1) ?? ''}`;
    if (end !== undefined) this.#note(name, { seeds: seed, cpuMs: 0, rule });
  }

  #note(name: string, { seeds, cpuMs, rule }: { seeds: number; cpuMs: number; rule?: string | undefined }): void {
    const before = this.#rows.get(name)?.cpuSeconds ?? 0;
    const row = { name, rule, seeds, cpuSeconds: Math.round((before + cpuMs / 1000) * 10) / 10 };
    this.#rows.set(name, row);
    keep(row, this.#options);
  }
}

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
