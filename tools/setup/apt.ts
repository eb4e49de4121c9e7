import { spawnSync } from 'node:child_process';

/** How long to wait for another apt, by apt itself or by us. */
const LOCK_SECONDS = 120;
/** For unreliable mirrors and networks. */
const TRIES = 3;
const PAUSE_MS = 5_000;

export interface AptOptions {
  /** The manual step when this does not work. */
  readonly byHand: string;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly pauseMs?: number;
}

/**
 * Runs apt-get with each list of arguments in turn. What fails is repeated from the first on: `update` also succeeds when it could
 * reach nobody, and then `install` finds nothing. `update` waits for nobody who holds its lock, whatever apt is told.
 */
export function runApt(steps: readonly (readonly string[])[], options: AptOptions): void {
  const { byHand, pauseMs = PAUSE_MS } = options;
  const giveUpAt = performance.now() + LOCK_SECONDS * 1_000;
  let tries = 0;
  for (;;) {
    const failure = failureOf(steps, options);
    if (failure === undefined) return;
    const isLocked = /could not get lock|unable to (?:lock|acquire)/i.test(failure);
    if (!isLocked) tries++;
    if (tries === TRIES || (isLocked && performance.now() > giveUpAt)) {
      const how = isLocked ? `for ${LOCK_SECONDS} s, as another apt is at work` : `${TRIES} times`;
      throw new Error(`apt-get failed ${how}: ${failure}. ${byHand}`);
    }
    process.stdout.write(`apt-get failed and is tried again: ${failure}\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
  }
}

/** Says what failed first. */
function failureOf(steps: readonly (readonly string[])[], { cwd, env = process.env }: AptOptions): string | undefined {
  const patience = ['-o', `DPkg::Lock::Timeout=${LOCK_SECONDS}`, '-o', 'Acquire::Retries=3'];
  for (const step of steps) {
    const { status, error, stderr } = spawnSync('apt-get', [...patience, ...step], {
      ...(cwd === undefined ? {} : { cwd }),
      // English messages, for the errors that are parsed here.
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (error !== undefined || status !== 0) return `${step.join(' ')}: ${error?.message ?? stderr.trim()}`;
  }
  return undefined;
}
