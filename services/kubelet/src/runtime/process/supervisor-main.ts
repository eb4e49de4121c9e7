/* oxlint-disable no-restricted-globals -- a main program of its own: it may import nothing but Node's builtins and its neighbours, and gives them the machine's clock. */
import { closeSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Clock, Timer } from '@holdfast/platform';
import { IDLE_EXIT_MS } from './limits.ts';
import { readLogLimits } from './log-limits-file.ts';
import { readNodeIsolation } from './node-isolation.ts';
import { readBootId } from './process-table.ts';
import { createProcessWatch } from './process-watch.ts';
import { createStateFiles } from './records.ts';
import { lockAddress, socketPath } from './socket-path.ts';
import { Supervisor } from './supervisor.ts';
import { createSupervisorServer } from './supervisor-server.ts';

const VERSION = 'holdfast-process://0.1.0';

async function main(stateArgument: string): Promise<void> {
  closeInherited();
  // Pods have it, too. What is private is written with its mode.
  process.umask(0o022);
  mkdirSync(stateArgument, { recursive: true, mode: 0o700 });
  const stateDirectory = realpathSync(stateArgument);
  // Another supervisor of this directory answers already: whoever started this one will find it.
  if (!(await bindLock(lockAddress(stateDirectory)))) process.exit(0);
  const bootId = readBootId();
  const supervisor = new Supervisor({
    clock: machineClock,
    files: createStateFiles(stateDirectory),
    processes: createProcessWatch(machineClock, bootId),
    bootId,
    logLimits: () => readLogLimits(stateDirectory),
    isolation: () => readNodeIsolation(stateDirectory),
    newId: () => crypto.randomUUID(),
    onChange: (podUid) => server.tellChanged(podUid),
  });
  let idle: Timer | undefined;
  const watchIdle = (): void => {
    idle?.cancel();
    idle = machineClock.timer(IDLE_EXIT_MS, () => {
      if (supervisor.isEmpty()) end();
      else watchIdle();
    });
  };
  const path = socketPath(stateDirectory);
  const removeSocket = (): void => rmSync(path, { force: true });
  const end = (): void => {
    removeSocket();
    process.exit(0);
  };
  const server = createSupervisorServer({
    version: VERSION,
    supervisor: () => supervisor,
    beforeLastAnswer: removeSocket,
    onShutDown: () => machineClock.timer(0, end),
  });
  await supervisor.adopt();
  removeSocket();
  await server.listen(path);
  watchIdle();
}

/** What whoever started this one left open: every process of every pod would have it. */
function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor > 2 && isInherited(name)) closeSync(descriptor);
  }
}

/** Whatever this program opens itself is closed in its children (`O_CLOEXEC`). */
function isInherited(name: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    // The one through which the list was read.
    return false;
  }
}

const O_CLOEXEC = 0o2000000;

function bindLock(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const lock = createServer();
    lock.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    lock.listen(address, () => resolve(true));
  });
}

const timer = (delayMs: number, fire: () => void): Timer => {
  const handle = setTimeout(fire, Math.max(0, delayMs));
  return { cancel: () => clearTimeout(handle) };
};

const machineClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer,
  sleep: (delayMs) => new Promise((resolve) => timer(delayMs, resolve)),
};

await main(process.argv[2] ?? '.');
