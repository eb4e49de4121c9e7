import { connect, type Socket } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { RuntimeError } from '../port.ts';
import type { ExclusiveGuard } from '../port-guard.ts';
import { bootTimeMs } from './boot-clock.ts';
import { createDeadlineFile } from './deadline-file.ts';
import { SUPERVISOR_START_POLL_MS, WATCHDOG_ANSWER_MS, WATCHDOG_START_DEADLINE_MS } from './limits.ts';
import { readBootId } from './process-table.ts';
import { watchdogAddress } from './socket-path.ts';
import { launchProgram } from './supervisor-launch.ts';

export interface ProcessGuard extends ExclusiveGuard {
  close(): void;
}

export interface ProcessGuardDeps {
  readonly stateDirectory: string;
  readonly clock: Clock;
  /** Without sandboxes nothing must be ended, and no watchdog is started. */
  readonly hasSandboxes: () => boolean;
  /** Rejects with `Unsupported` when the supervisor is of an earlier version: it would start processes after the deadline. */
  readonly supervisor: () => Promise<void>;
}

/** The deadline of a node is kept by its supervisor and by its watchdog, from a file; this is the kubelet's end. */
export function createProcessGuard({
  stateDirectory,
  clock,
  hasSandboxes,
  supervisor,
}: ProcessGuardDeps): ProcessGuard {
  const file = createDeadlineFile(stateDirectory, readBootId());
  const address = watchdogAddress(stateDirectory);
  let socket: Socket | undefined;
  const isAnswered = async (): Promise<boolean> => {
    socket ??= await tryConnect(address);
    if (socket === undefined) return false;
    if (await echo(socket, clock)) return true;
    socket.destroy();
    socket = undefined;
    return false;
  };
  return {
    now: bootTimeMs,
    deadline: () => file.read()?.untilMs,
    policy: () => file.read()?.policy,
    ready: async () => {
      if (!hasSandboxes()) return;
      await supervisor();
      if (await isAnswered()) return;
      launchProgram(stateDirectory, 'watchdog');
      const giveUpAt = clock.monotonic() + WATCHDOG_START_DEADLINE_MS;
      while (clock.monotonic() < giveUpAt) {
        await clock.sleep(SUPERVISOR_START_POLL_MS);
        if (await isAnswered()) return;
      }
      throw new RuntimeError('Unavailable', `the watchdog does not answer; see watchdog.log in ${stateDirectory}`);
    },
    extend: (untilMs, policy) => file.write({ untilMs, policy }),
    withdraw: () => file.remove(),
    close: () => socket?.destroy(),
  };
}

/** Resolves with `undefined` when nothing listens there. */
function tryConnect(address: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address);
    // 'close' follows, and the next check finds no listener.
    socket.on('error', () => resolve(undefined));
    socket.once('connect', () => resolve(socket));
  });
}

/** Checks that it responds in time. A stopped process accepts connections but never responds. */
function echo(socket: Socket, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (answer: boolean) => (): void => {
      deadline.cancel();
      socket.removeAllListeners('data');
      socket.removeAllListeners('close');
      resolve(answer);
    };
    const deadline = clock.timer(WATCHDOG_ANSWER_MS, settle(false));
    socket.once('data', settle(true));
    socket.once('close', settle(false));
    socket.write('?');
  });
}
