import { realpathSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { ClassCgroups, COVERED_CLASSES } from '../class-cgroups.ts';
import { bootTimeMs } from './boot-clock.ts';
import { coveredContainers } from './covered.ts';
import { createDeadlineFile } from './deadline-file.ts';
import { WATCHDOG_LOOK_MS, WATCHDOG_NICENESS, WATCHDOG_START_GRACE_MS } from './limits.ts';
import { lookAtMembers } from './member-looks.ts';
import { readBootId } from './process-table.ts';
import { createProcessWatch } from './process-watch.ts';
import { sendSignal } from './send-signal.ts';
import { directoryHash, watchdogAddress } from './socket-path.ts';
import { bindLock, closeInherited, machineClock } from './standalone.ts';
import { createSuspendTelltale } from './suspend-telltale.ts';
import { enforceDeadline } from './watchdog.ts';
import { readDevicePath, WatchdogDevice } from './watchdog-device.ts';

/**
 * Keeps the deadline of a node beside its supervisor, and does nothing else: it lives until nothing that it could end is left and no
 * kubelet is connected.
 */
async function main(stateArgument: string): Promise<void> {
  closeInherited();
  spareMemory();
  goFirst();
  const stateDirectory = realpathSync(stateArgument);
  const connections = new Set<Socket>();
  let wasAsked = false;
  const server = createServer((socket) => {
    connections.add(socket);
    wasAsked = true;
    // A response shows that this process runs.
    socket.on('data', (chunk: Buffer) => void socket.write(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => void connections.delete(socket));
  });
  if (!(await bindLock(server, watchdogAddress(stateDirectory)))) process.exit(0);
  const bootId = readBootId();
  const startedAtMs = machineClock.monotonic();
  const file = createDeadlineFile(stateDirectory, bootId);
  const looks = createSuspendTelltale({ boot: bootTimeMs, monotonic: () => machineClock.monotonic() }, tell);
  const groups = new ClassCgroups(directoryHash(stateDirectory));
  const processes = createProcessWatch(machineClock, bootId);
  lookAtMembers(machineClock, processes, () => coveredContainers(stateDirectory, 'all').containers);
  const deps = {
    now: bootTimeMs,
    deadline: () => file.read(),
    covered: (policy: 'exclusive' | 'all') => coveredContainers(stateDirectory, policy),
    processes,
    kill: (pid: number) => sendSignal(pid, 'SIGKILL'),
    groups,
    tell,
  };
  const device = new WatchdogDevice(() => readDevicePath(stateDirectory), tell);
  for (;;) {
    looks();
    const alive = await enforceDeadline(deps).catch((error: unknown) => tell(`a look failed: ${String(error)}`));
    device.look({ deadline: deps.deadline(), nowMs: deps.now(), alive: alive ?? undefined });
    const isYoung = !wasAsked && machineClock.monotonic() - startedAtMs < WATCHDOG_START_GRACE_MS;
    const { containers, failures } = coveredContainers(stateDirectory, 'all');
    const hasPods = containers.length + failures.length > 0 || COVERED_CLASSES.some((each) => groups.isPopulated(each));
    if (connections.size === 0 && !isYoung && !hasPods) {
      device.disarm();
      process.exit(0);
    }
    await machineClock.sleep(WATCHDOG_LOOK_MS);
  }
}

const tell = (message: string): void => void process.stderr.write(`watchdog: ${message}\n`);

/** The kernel ends others first, where it lets us say so. */
function spareMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '-900');
  } catch {
    // Only root may.
  }
}

/** Pods that take all cores do not delay it. It starts no processes that would inherit this. */
function goFirst(): void {
  try {
    setPriority(WATCHDOG_NICENESS);
  } catch {
    // Needs CAP_SYS_NICE.
  }
}

await main(process.argv[2] ?? '.');
