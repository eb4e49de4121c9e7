import { PLANTED_BUGS } from '../../test/sim/hunt/planted.mjs';
import { Group, groupsOf } from './planted-group.ts';
import { PlantedResults } from './planted-results.ts';
import type { Hunted } from './planted-table.ts';

export interface PlantedOptions {
  /** `all`, or names with commas between them. */
  readonly which: string;
  readonly seeds: number;
  /** The longest time for one hunt. */
  readonly minutes: number;
  readonly jobs: number;
  /** How many bugs are planted at once. */
  readonly together: number;
  /** How many hunts there are for each bug, each with seeds of its own. */
  readonly hunts: number;
  /** Goes on after the seeds that the last hunts have played in vain, and leaves out what they have found. */
  readonly resumes: boolean;
  readonly say: (text: string) => void;
  /** The results so far, by bug. */
  readonly results: string;
  readonly table: string;
}

/** The first seeds of two hunts for a bug are this far apart. */
const SEEDS_BETWEEN = 100_000;

/** Hunts for planted bugs, and rewrites the table after each seed. Earlier results of other bugs stay in it. */
export async function huntPlanted(options: PlantedOptions): Promise<number> {
  const { which, jobs, hunts, say } = options;
  const names = which === 'all' ? PLANTED_BUGS.map(({ name }) => name) : which.split(',');
  const unknown = names.filter((name) => PLANTED_BUGS.every((bug) => bug.name !== name));
  if (unknown.length > 0) {
    say(
      `there is no planted bug "${unknown.join('", "')}"; there are ${PLANTED_BUGS.map(({ name }) => name).join(', ')}`,
    );
    return 2;
  }
  const results = new PlantedResults(options);
  const froms = Array.from({ length: hunts }, (_, i) => 1 + i * SEEDS_BETWEEN);
  if (!options.resumes) results.forget(names);
  const left = froms.flatMap((from) => {
    const missing = names.filter((name) => results.of(name, from)?.rule === undefined);
    return groupsOf(missing, options.together).map((group) => new Group(group, { ...options, from, results }));
  });
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  const job = async (): Promise<void> => {
    for (let group = left.shift(); group !== undefined && !over.signal.aborted; group = left.shift()) {
      await group.hunt(over.signal);
      for (const name of group.names) say(inWords(name, results.of(name, group.from)));
    }
  };
  await Promise.all(Array.from({ length: jobs }, job));
  const found = names.filter((name) => froms.some((from) => results.of(name, from)?.rule !== undefined)).length;
  say(`${found} of ${names.length} were found; see ${options.table}`);
  return found === names.length ? 0 : 1;
}

function inWords(name: string, hunted: Hunted | undefined): string {
  if (hunted === undefined) return `${name}: not played`;
  const { rule, seeds, cpuSeconds, from } = hunted;
  const end = rule === undefined ? `not found in ${seeds} seeds` : `${rule}, after ${seeds} seeds`;
  return `${name}: ${end} from ${from} (${cpuSeconds} s of CPU)`;
}
