import type { Clock } from '@holdfast/platform';
import { RuntimeError } from '../port.ts';
import type { ExclusiveGuard } from '../port-guard.ts';
import { bootTimeMs } from './boot-clock.ts';
import { createDeadlineFile } from './deadline-file.ts';
import { SUPERVISOR_START_POLL_MS, WATCHDOG_START_DEADLINE_MS } from './limits.ts';
import { readBootId } from './process-table.ts';
import { watchdogAddress } from './socket-path.ts';
import { launchProgram } from './supervisor-launch.ts';
import { WatchdogLine } from './watchdog-line.ts';

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
  const line = new WatchdogLine(watchdogAddress(stateDirectory), clock);
  return {
    now: bootTimeMs,
    deadline: () => file.read()?.untilMs,
    policy: () => file.read()?.policy,
    ready: async () => {
      if (!hasSandboxes()) return;
      await supervisor();
      if (await line.answers()) return;
      launchProgram(stateDirectory, 'watchdog');
      const giveUpAt = clock.monotonic() + WATCHDOG_START_DEADLINE_MS;
      while (clock.monotonic() < giveUpAt) {
        await clock.sleep(SUPERVISOR_START_POLL_MS);
        if (await line.answers()) return;
      }
      throw new RuntimeError('Unavailable', `the watchdog does not answer; see watchdog.log in ${stateDirectory}`);
    },
    extend: (untilMs, policy) => file.write({ untilMs, policy }),
    withdraw: () => file.remove(),
    close: () => line.close(),
  };
}
