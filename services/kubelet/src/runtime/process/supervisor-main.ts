import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Timer } from '@holdfast/platform';
import { bootTimeMs } from './boot-clock.ts';
import { createDeadlineFile } from './deadline-file.ts';
import { IDLE_EXIT_MS, WATCHDOG_LOOK_MS } from './limits.ts';
import { readLogLimits } from './log-limits-file.ts';
import { readNodeIsolation } from './node-isolation.ts';
import { readBootId } from './process-table.ts';
import { createProcessWatch } from './process-watch.ts';
import { createStateFiles } from './records.ts';
import { lockAddress, socketPath } from './socket-path.ts';
import { bindLock, closeInherited, machineClock } from './standalone.ts';
import { Supervisor } from './supervisor.ts';
import { createSupervisorServer } from './supervisor-server.ts';
import { createViewWorkers } from './view-workers.ts';

const VERSION = 'holdfast-process://0.1.0';

async function main(stateArgument: string): Promise<void> {
  closeInherited();
  // Pods have it, too. What is private is written with its mode.
  process.umask(0o022);
  mkdirSync(stateArgument, { recursive: true, mode: 0o700 });
  const stateDirectory = realpathSync(stateArgument);
  // Another supervisor of this directory is running: the starter of this process will find that one.
  if (!(await bindLock(createServer(), lockAddress(stateDirectory)))) process.exit(0);
  const bootId = readBootId();
  const deadline = createDeadlineFile(stateDirectory, bootId);
  const supervisor = new Supervisor({
    clock: machineClock,
    files: createStateFiles(stateDirectory),
    processes: createProcessWatch(machineClock, bootId),
    bootId,
    logLimits: () => readLogLimits(stateDirectory),
    isolation: () => readNodeIsolation(stateDirectory),
    views: createViewWorkers({ clock: machineClock }),
    fencing: { now: bootTimeMs, deadline: () => deadline.read() },
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
  const watchDeadline = (): void => {
    supervisor.fence();
    machineClock.timer(WATCHDOG_LOOK_MS, watchDeadline);
  };
  watchDeadline();
}

await main(process.argv[2] ?? '.');
