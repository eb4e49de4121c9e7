import type { Clock, Log } from '@holdfast/platform';
import { ClassCgroups } from '../class-cgroups.ts';
import type { ContainerRuntime, SandboxStatus } from '../port.ts';
import { bootTimeMs } from '../process/boot-clock.ts';
import { createDeadlineFile } from '../process/deadline-file.ts';
import { createProcessGuard } from '../process/exclusive-guard.ts';
import { readBootId } from '../process/process-table.ts';
import { directoryHash } from '../process/socket-path.ts';
import { writeDevicePath } from '../process/watchdog-device.ts';
import { ContainerGuard } from './container-guard.ts';
import { GuardedContainers } from './guarded-runtime.ts';
import { StartRecords } from './start-records.ts';

export interface GuardingOptions {
  readonly stateDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves with the reason why the runtime places no containers in given groups; undefined: it does. */
  readonly refusal: () => Promise<string | undefined>;
  /** The watchdog device of the machine, which resets it when its containers cannot be ended. */
  readonly watchdogDevice?: string | undefined;
  /** For tests. */
  readonly groups?: ClassCgroups;
}

const NO_GROUPS = 'the kernel has no control groups that can be killed, or this user may not create them';

/** Gives a runtime a guard, where the kernel can end its containers. */
export function guarded(runtime: ContainerRuntime, options: GuardingOptions): ContainerRuntime {
  const { stateDirectory, clock, log, refusal, watchdogDevice } = options;
  const groups = options.groups ?? new ClassCgroups(directoryHash(stateDirectory));
  if (!groups.prepare()) {
    if (watchdogDevice !== undefined)
      log.warn('the watchdog device is not used', { device: watchdogDevice, reason: NO_GROUPS });
    return runtime;
  }
  writeDevicePath(stateDirectory, watchdogDevice);
  const records = new StartRecords(stateDirectory);
  const containers = new GuardedContainers({ runtime, clock, groups, records, refusal });
  const watchdog = createProcessGuard({
    stateDirectory,
    clock,
    hasSandboxes: () => true,
    supervisor: () => Promise.resolve(),
  });
  const guard: ContainerGuard = new ContainerGuard({
    clock,
    log,
    now: bootTimeMs,
    groups,
    file: createDeadlineFile(stateDirectory, readBootId()),
    watchdog: () => watchdog.ready(),
    placed: () => containers.placed(guard),
    hasSentStarts: () => records.ids.length > 0,
    unsettledStarts: () => containers.unsettledStarts(),
  });
  return {
    ...runtime,
    guard,
    runSandbox: (config) => containers.runSandbox(config, guard),
    removeSandbox: async (id) => {
      await runtime.removeSandbox(id);
      containers.forget(id);
    },
    createContainer: async (sandbox, config) => {
      const id = await runtime.createContainer(sandbox, config);
      containers.note(sandbox, id);
      return id;
    },
    list: async (filter) => (await runtime.list(filter)).map(asRequested),
    startContainer: (id, startBeforeMs) => containers.startContainer(id, startBeforeMs, guard),
    removeContainer: async (id) => {
      await runtime.removeContainer(id);
      containers.forget(id);
    },
    close: async () => {
      watchdog.close();
      guard.close();
      await runtime.close();
    },
  };
}

/** The kubelet sees the configuration that it gave. */
function asRequested(sandbox: SandboxStatus): SandboxStatus {
  const { cgroupParent: _placed, ...config } = sandbox.config;
  return { ...sandbox, config };
}
