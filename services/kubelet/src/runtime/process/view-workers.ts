import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@holdfast/platform';
import { HELPER_ENVIRONMENT } from '../helpers.ts';
import { hasForeignMounts } from '../pod-directories.ts';
import { RuntimeError } from '../port.ts';
import { type IsolationRequest, writeIsolationScript } from './isolation-script.ts';
import { VIEW_DEADLINE_MS, VIEW_WORKERS_MAX } from './limits.ts';
import { isDirectory } from './spawn-paths.ts';
import type { ViewAnswer, ViewOrder } from './view-worker-main.ts';

/** Looks at what a container is to see. It may lie on a file system whose server never answers. */
export interface ViewWork {
  writeScript(directory: string, request: IsolationRequest): Promise<string>;
  isDirectory(path: string): Promise<boolean>;
}

export interface ViewWorkersDeps {
  readonly clock: Clock;
  /** False: every file system of the machine is its own, and answers. */
  readonly mayHang?: () => boolean;
  readonly deadlineMs?: number;
  readonly workersMax?: number;
  /** Default: the one beside this file. */
  readonly program?: string;
}

const SUFFIX = /\.[a-z]+$/.exec(import.meta.url)?.[0] ?? '.js';
const PROGRAM = fileURLToPath(new URL(`./view-worker-main${SUFFIX}`, import.meta.url));
const SMALL = ['--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=0'] as const;

/** One process for each look, only where a file system of the machine has a server: the supervisor has all pods of the node. */
export function createViewWorkers(deps: ViewWorkersDeps): ViewWork {
  const { mayHang = hasForeignMounts } = deps;
  const workers = new Workers(deps);
  return {
    writeScript: async (directory, request) =>
      mayHang()
        ? String(await workers.order({ kind: 'script', directory, request }))
        : writeIsolationScript(directory, request),
    isDirectory: async (path) =>
      mayHang() ? (await workers.order({ kind: 'isDirectory', path })) === true : isDirectory(path),
  };
}

class Workers {
  readonly #deps: ViewWorkersDeps;
  readonly #workers = new Set<ChildProcess>();

  constructor(deps: ViewWorkersDeps) {
    this.#deps = deps;
  }

  /** Rejects with `RuntimeError` when nothing answers: the start is tried again. */
  async order(order: ViewOrder): Promise<string | boolean> {
    const { clock, deadlineMs = VIEW_DEADLINE_MS, workersMax = VIEW_WORKERS_MAX } = this.#deps;
    if (this.#workers.size >= workersMax)
      throw new RuntimeError('Unavailable', `${workersMax} looks at volumes of the node wait for their servers`);
    const worker = this.#start();
    const late = Promise.withResolvers<never>();
    const timer = clock.timer(deadlineMs, () => {
      // It may end late, or never.
      worker.kill('SIGKILL');
      worker.unref();
      late.reject(
        new RuntimeError('Unavailable', `the server of a volume did not answer within ${deadlineMs / 1000} s`),
      );
    });
    try {
      return await Promise.race([answerOf(worker, order), late.promise]);
    } finally {
      timer.cancel();
    }
  }

  #start(): ChildProcess {
    const { program = PROGRAM } = this.#deps;
    const worker = spawn(process.execPath, [...SMALL, program], {
      env: { ...HELPER_ENVIRONMENT },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#workers.add(worker);
    worker.once('close', () => this.#workers.delete(worker));
    return worker;
  }
}

async function answerOf(worker: ChildProcess, order: ViewOrder): Promise<string | boolean> {
  const failed = new Promise<never>((_resolve, reject) => worker.on('error', reject));
  // One that ended before it has read everything has told why.
  worker.stdin?.on('error', () => undefined);
  worker.stdin?.end(JSON.stringify(order));
  const told = await Promise.race([worker.stdout === null ? '' : text(worker.stdout), failed]);
  if (told === '') throw new Error('the process that looks at the volumes of a container has ended');
  const answer = JSON.parse(told) as ViewAnswer;
  if ('failure' in answer) throw new Error(answer.failure);
  return answer.result;
}
