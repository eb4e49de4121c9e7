import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Scenario } from '../../test/scenario/model.ts';
import type { SeedReport } from '../../test/sim/hunt/hunter.ts';
import type { ProfileName } from '../../test/sim/hunt/plan.ts';

/** The plan of a seed that begins. */
export interface Begin {
  readonly begins: Scenario;
}

/** The result of one seed, and its cost. */
export interface Report extends SeedReport {
  readonly cpuMs: number;
  /** The most memory that its process had up to then. */
  readonly peakBytes: number;
}

export interface Work {
  /** `hunt` shrinks what fails, `plain` does not. */
  readonly command: 'hunt' | 'plain' | 'replay';
  readonly args: readonly string[];
  readonly planted?: string | undefined;
  /** A scenario file that is played in place of what the seed draws. */
  readonly plan?: string;
  /** The size of the worlds. Default: standard. */
  readonly profile?: ProfileName;
  /** When it is aborted, the process finishes the seed at which it is. */
  readonly signal?: AbortSignal;
  /** A process that prints nothing for this long is ended. */
  readonly silentMs?: number;
  /** For tests: replaces the program that runs seeds. */
  readonly program?: string;
}

/** The abnormal end of a process. */
export interface BadEnd {
  readonly why: string;
}

const PROGRAM = new URL('../../test/sim/hunt/worker-main.ts', import.meta.url);
/** Not in the package. */
const PLANTING = new URL('../../test/sim/hunt/plant.mjs', import.meta.url);
/** A seed takes seconds, and its shrinking a few minutes. */
const SILENT_MS = 20 * 60_000;
/** What a planted bug makes grow without end stops here, not when the machine has no memory left. */
const HEAP_MB = 1_500;
const STDERR_CHARS_SHOWN = 4_000;

/** Runs one process and hands on each line that it prints. Answers how it ended where that was not in order. */
export async function runWorker(work: Work, told: (line: string) => void): Promise<BadEnd | undefined> {
  const program = work.program ?? fileURLToPath(PROGRAM);
  const planted = work.planted === undefined ? [] : [work.planted];
  const args = [
    '--disable-warning=ExperimentalWarning',
    `--max-old-space-size=${HEAP_MB}`,
    ...planted.flatMap((bug) => ['--import', `${PLANTING.href}?bug=${bug}`]),
    program,
    work.command,
    ...work.args,
    ...planted,
    ...(work.plan === undefined ? [] : ['--plan', work.plan]),
    ...(work.profile === undefined ? [] : ['--profile', work.profile]),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const finish = (): void => void child.kill('SIGTERM');
  if (work.signal?.aborted === true) finish();
  work.signal?.addEventListener('abort', finish);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr = `${stderr}${chunk.toString()}`.slice(-STDERR_CHARS_SHOWN)));
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => {
      // It was asked to finish before it could listen.
      const isAsked = (signal === 'SIGTERM' || signal === 'SIGINT') && work.signal?.aborted === true;
      resolve(code === 0 || isAsked ? '' : `exit ${code ?? signal}`);
    });
  });
  const silence = setTimeout(() => child.kill('SIGKILL'), work.silentMs ?? SILENT_MS);
  for await (const line of createInterface(child.stdout)) {
    silence.refresh();
    told(line);
  }
  const how = await ended;
  clearTimeout(silence);
  work.signal?.removeEventListener('abort', finish);
  return how === '' ? undefined : { why: `${how}\n${stderr.trim()}`.trim() };
}

export const readLine = (line: string): Begin | Report => JSON.parse(line) as Begin | Report;
