import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { writeScenario } from '../../test/scenario/files.ts';
import type { Scenario } from '../../test/scenario/model.ts';
import type { ProfileName } from '../../test/sim/hunt/plan.ts';
import { playAlone } from './replay.ts';
import { type Report, readLine, runWorker } from './worker.ts';

export interface FreshOptions {
  readonly minutes: number;
  readonly jobs: number;
  readonly from: number;
  readonly profile: ProfileName;
  readonly say: (text: string) => void;
  /** Findings and the end, for programs. */
  readonly document?: ((result: object) => void) | undefined;
  /** The folder for scenario files. */
  readonly folder: string;
  /** The command that plays a file again. */
  readonly again?: string;
}

/** A new process spends some seconds on compiling, and each process keeps its memory flat. */
const SEEDS_PER_PROCESS: Readonly<Record<ProfileName, number>> = { short: 1_000, standard: 200, long: 30 };
const MINUTE_MS = 60_000;
const ENDED = 'the process of the run ended';
const BYTES_PER_MB = 1024 * 1024;

/** Runs fresh seeds until the time is over or an interrupt. Resolves with the exit code. */
export async function huntFresh({
  minutes,
  jobs,
  from,
  profile,
  say,
  document,
  folder,
  again,
}: FreshOptions): Promise<number> {
  const tally = new Tally();
  let next = from;
  const over = new AbortController();
  const finish = (): void => over.abort();
  const job = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const first = next;
      next += SEEDS_PER_PROCESS[profile];
      let last: Scenario | undefined;
      const args = [String(first), String(SEEDS_PER_PROCESS[profile])];
      const end = await runWorker({ command: 'hunt', args, profile, signal: over.signal }, (line) => {
        const told = readLine(line);
        if ('begins' in told) {
          last = told.begins;
          return;
        }
        tally.add(told);
        if (told.scenario !== undefined) keep(told.scenario, told.drawn);
      });
      if (end === undefined) continue;
      tally.found += 1;
      if (last === undefined) {
        // The next one would end in the same way.
        say(`a process ended before its first seed: ${end.why}`);
        return;
      }
      keep({ ...last, found: { rule: ENDED, story: end.why } }, last.schedule.length);
    }
  };
  const kept: Promise<void>[] = [];
  const keep = (scenario: Scenario, drawn: number): void => {
    const { seed, found } = scenario;
    const file = path.join(folder, `seed-${seed}.yaml`);
    document?.({ event: 'finding', seed, file, rule: found?.rule, story: found?.story });
    kept.push(keepFinding({ file, scenario, drawn, say, again }));
  };
  say(
    `${minutes} minutes, ${jobs} job(s), ${profile} profile, seeds from ${from}; Ctrl-C finishes the seeds under way`,
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, finish);
  const ends = setTimeout(finish, minutes * MINUTE_MS);
  const progress = setInterval(() => say(tally.inWords()), MINUTE_MS);
  await Promise.all(Array.from({ length: jobs }, job));
  await Promise.all(kept);
  clearTimeout(ends);
  clearInterval(progress);
  say(tally.inWords());
  document?.({ event: 'end', ...tally.counts() });
  say(tally.found === 0 ? 'no rule was broken' : `${tally.found} seeds broke a rule: see ${folder}`);
  return tally.found === 0 ? 0 : 1;
}

/** Writes a finding as a file, plays it once more in a process of its own, and writes the hash and timeline of that run. */
export async function keepFinding({
  file,
  scenario,
  drawn,
  say,
  again = 'npm run hunt -- --scenario',
  play = playAlone,
}: {
  readonly file: string;
  readonly scenario: Scenario;
  /** How many steps the seed had. */
  readonly drawn: number;
  readonly say: (text: string) => void;
  readonly again?: string | undefined;
  /** For tests. */
  readonly play?: typeof playAlone;
}): Promise<void> {
  mkdirSync(path.dirname(file), { recursive: true });
  writeScenario(file, scenario);
  const { found, seed, schedule } = scenario;
  const steps = `${schedule.length} of ${drawn} steps`;
  say(`seed ${seed} breaks a rule with ${steps}: ${found?.story}`);
  const html = file.replace(/\.yaml$/, '.html');
  const played = await play(file, { html });
  if ('why' in played || found === undefined) return;
  writeScenario(file, { ...scenario, found: { ...found, trace: played.traceHash } });
  if (played.violation === undefined)
    say('  it breaks no rule when it is played alone: what the process had played before matters');
  const shown = path.relative(process.cwd(), file);
  say(`  timeline: ${path.relative(process.cwd(), html)}; play it again: ${again} ${shown}`);
}

/** The findings and costs of one hunt. */
export class Tally {
  found = 0;
  #seeds = 0;
  #steps = 0;
  #simulatedSeconds = 0;
  #cpuMs = 0;
  #peakBytes = 0;
  #reached = 0;

  add({ steps, simulatedSeconds, cpuMs, peakBytes, scenario, reached }: Report): void {
    this.#seeds += 1;
    this.#steps += steps;
    this.#simulatedSeconds += simulatedSeconds;
    this.#cpuMs += cpuMs;
    this.#peakBytes = Math.max(this.#peakBytes, peakBytes);
    this.#reached = Math.max(this.#reached, reached);
    this.found += scenario === undefined ? 0 : 1;
  }

  counts(): object {
    return { seeds: this.#seeds, found: this.found, steps: this.#steps, simulatedSeconds: this.#simulatedSeconds };
  }

  inWords(): string {
    const perMinute = this.#cpuMs === 0 ? 0 : Math.round((this.#seeds * MINUTE_MS) / this.#cpuMs);
    const hours = (this.#simulatedSeconds / 3600).toFixed(1);
    const memory = `at most ${Math.round(this.#peakBytes / BYTES_PER_MB)} MB a process`;
    const work = `${this.#steps} steps, ${hours} simulated hours, ${perMinute} seeds per CPU minute, ${memory}`;
    return `${this.#seeds} seeds, ${this.found} found: ${work}, ${this.#reached} things reached`;
  }
}
