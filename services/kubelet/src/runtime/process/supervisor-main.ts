/* oxlint-disable no-restricted-globals -- a main program of its own: it may import nothing but Node's builtins and its neighbours, and gives them the machine's clock. */
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Clock, Timer } from '@holdfast/platform';
import { IDLE_EXIT_MS } from './limits.ts';
import { readLogLimits } from './log-limits-file.ts';
import { readBootId } from './process-table.ts';
import { createProcessWatch } from './process-watch.ts';
import { createStateFiles } from './records.ts';
import { lockAddress, socketPath } from './socket-path.ts';
import { Supervisor } from './supervisor.ts';
import { createSupervisorServer } from './supervisor-server.ts';

const VERSION = 'holdfast-process://0.1.0';

async function main(stateArgument: string): Promise<void> {
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
