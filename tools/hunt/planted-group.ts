import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeScenario } from '../../test/scenario/files.ts';
import type { Scenario } from '../../test/scenario/model.ts';
import { scenarioOf } from '../../test/scenario/plans.ts';
import { planOf } from '../../test/sim/hunt/plan.ts';
import { editsOf, PLANTED_BUGS, plantInto } from '../../test/sim/hunt/planted.mjs';
import type { PlantedResults } from './planted-results.ts';
import type { Hunted } from './planted-table.ts';
import { readLine, runWorker } from './worker.ts';

const MINUTE_MS = 60_000;
const ROOT = path.resolve(import.meta.dirname, '../..');
const SEEDS_PER_PROCESS = 200;
const ONE_SEED_MS = 3 * MINUTE_MS;

/** Bugs that change different places of the sources, at most so many in a group. */
export function groupsOf(names: readonly string[], size: number): string[][] {
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

export interface GroupOptions {
  /** The first seed. */
  readonly from: number;
  readonly seeds: number;
  /** The longest time of the hunt. */
  readonly minutes: number;
  readonly results: Pick<PlantedResults, 'of' | 'keep'>;
  readonly say?: (text: string) => void;
  /** For tests. */
  readonly run?: typeof runWorker;
}

interface Replayed {
  readonly cpuMs: number;
  readonly rule: string | undefined;
}

/**
 * Plays seeds with several planted bugs at once, so that bugs that are hard to find share the seeds that are played in vain. A seed
 * that breaks a rule is played again with each of them alone, and without any, which has to break nothing. What was not
 * played is not recorded.
 */
export class Group {
  readonly names: readonly string[];
  readonly from: number;
  readonly #options: GroupOptions;
  readonly #run: typeof runWorker;
  /** The last seed that was played without a planted bug. */
  #without: { readonly seed: number; readonly rule: string | undefined } | undefined;

  constructor(names: readonly string[], options: GroupOptions) {
    this.names = names;
    this.from = options.from;
    this.#options = options;
    this.#run = options.run ?? runWorker;
  }

  async hunt(stop: AbortSignal): Promise<void> {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), this.#options.minutes * MINUTE_MS);
    const signal = AbortSignal.any([stop, over.signal]);
    while (this.#left().length > 0 && this.#played() < this.#options.seeds && !signal.aborted) {
      const failing = await this.#playTogether(signal);
      if (failing === undefined) continue;
      for (const name of this.#left()) if (!stop.aborted) await this.#playAlone(name, failing);
    }
    clearTimeout(timer);
  }

  #huntedFor(name: string): Hunted {
    return this.#options.results.of(name, this.from) ?? { from: this.from, seeds: 0, cpuSeconds: 0 };
  }

  #left(): readonly string[] {
    return this.names.filter((name) => this.#huntedFor(name).rule === undefined);
  }

  /** Seeds that all of those that are left have been played with. */
  #played(): number {
    return Math.min(...this.#left().map((name) => this.#huntedFor(name).seeds));
  }

  /** Resolves with the plan that fails. It counts for a bug only when it has been played with that one alone. */
  async #playTogether(signal: AbortSignal): Promise<Scenario | undefined> {
    const first = this.from + this.#played();
    // One that has been played with more seeds joins when the others are as far.
    const left = this.#left().filter((name) => this.#huntedFor(name).seeds === this.#played());
    let failing: Scenario | undefined;
    let last: Scenario | undefined;
    const count = Math.min(SEEDS_PER_PROCESS, this.from + this.#options.seeds - first);
    const work = {
      command: 'plain',
      args: [String(first), String(count)],
      planted: left.join(','),
      signal,
      silentMs: ONE_SEED_MS,
    } as const;
    const end = await this.#run(work, (line) => {
      const told = readLine(line);
      if ('begins' in told) {
        last = told.begins;
        return;
      }
      const { seed, scenario, cpuMs } = told;
      if (scenario !== undefined) failing = last;
      else for (const name of left) this.#note(name, { seed, cpuMs: cpuMs / left.length });
    });
    // A process that ends before its first seed is told as the end of that seed.
    return end === undefined ? failing : (last ?? scenarioOf(planOf(first), { name: `seed ${first}` }));
  }

  async #playAlone(name: string, failing: Scenario): Promise<void> {
    const { seed } = failing;
    if (this.#huntedFor(name).seeds !== seed - this.from) return;
    const { cpuMs, rule } = await this.#replay(failing, name);
    // What breaks without the bug as well is a fault of the product or of a rule, and no find.
    const own = rule === undefined ? undefined : await this.#ruleWithout(failing);
    this.#note(name, { seed, cpuMs, rule: own === undefined ? rule : undefined });
  }

  /** Played once, however many bugs it is played with. */
  async #ruleWithout(failing: Scenario): Promise<string | undefined> {
    const { seed } = failing;
    if (this.#without?.seed === seed) return this.#without.rule;
    const { rule } = await this.#replay(failing, '');
    this.#without = { seed, rule };
    if (rule !== undefined) this.#options.say?.(`seed ${seed} breaks a rule without a planted bug: ${rule}`);
    return rule;
  }

  async #replay(failing: Scenario, planted: string): Promise<Replayed> {
    const { seed } = failing;
    const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-hunt-'));
    const plan = path.join(folder, 'plan.yaml');
    writeScenario(plan, failing);
    let replayed: Replayed = { cpuMs: 0, rule: undefined };
    const bug = planted === '' ? {} : { planted };
    const work = { command: 'plain', args: [String(seed), '1'], plan, ...bug, silentMs: ONE_SEED_MS } as const;
    const end = await this.#run(work, (line) => {
      const told = readLine(line);
      if (!('begins' in told)) replayed = { cpuMs: told.cpuMs, rule: told.scenario?.found?.rule };
    });
    rmSync(folder, { recursive: true });
    return end === undefined ? replayed : { cpuMs: 0, rule: `the process ended: ${end.why.split('\n').at(-1) ?? ''}` };
  }

  #note(name: string, { seed, cpuMs, rule }: { seed: number; cpuMs: number; rule?: string | undefined }): void {
    const before = this.#huntedFor(name);
    const cpuSeconds = Math.round((before.cpuSeconds + cpuMs / 1000) * 10) / 10;
    const hunted = { from: this.from, seeds: seed - this.from + 1, cpuSeconds };
    this.#options.results.keep(name, rule === undefined ? hunted : { ...hunted, rule });
  }
}
