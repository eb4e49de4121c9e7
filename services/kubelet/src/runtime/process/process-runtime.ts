import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock, Log } from '@holdfast/platform';
import { DEFAULT_LOG_LIMITS, type LogLimits } from '../log-limits.ts';
import { createPodDirectories } from '../pod-directories.ts';
import {
  type ContainerConfig,
  type ContainerRuntime,
  type ExecResult,
  type RuntimeAbilities,
  RuntimeError,
  type SandboxStatus,
} from '../port.ts';
import { createProcessGuard } from './exclusive-guard.ts';
import { commandOf } from './image-command.ts';
import { detectAbilities } from './isolation.ts';
import { DEATH_CONFIRM_MS, REQUEST_DEADLINE_MS, SUPERVISOR_RETRY_MS, WATCHDOG_ANSWER_MS } from './limits.ts';
import { writeLogLimits } from './log-limits-file.ts';
import { decodeId, networkedSandboxes } from './networked-sandboxes.ts';
import { writeNodeIsolation } from './node-isolation.ts';
import type { NetworkedSandbox, ProcessNetwork } from './process-network.ts';
import { createProcessTable } from './process-table.ts';
import { recordedPods, sandboxesDirectory } from './records.ts';
import { socketPath } from './socket-path.ts';
import { createProcessStreams } from './streams.ts';
import { createSupervisorConnection, type SupervisorConnection } from './supervisor-connection.ts';
import { createUsageMeter } from './usage.ts';
import { userNamespaceRefusal } from './user-namespace-trial.ts';
import { writeDevicePath } from './watchdog-device.ts';

export interface ProcessRuntimeOptions {
  /** Everything that must outlive the kubelet: records, logs, the supervisor's socket. Its own per node. */
  readonly stateDirectory: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The `podIP`: processes share this machine's network. It may change while pods run. */
  readonly nodeAddress: () => string;
  /** Absent: all pods share the network of the machine. */
  readonly network?: ProcessNetwork | undefined;
  /** Default: Kubernetes'. */
  readonly logs?: LogLimits | undefined;
  /** Additional paths that no pod may see: the server's own files. Missing ones are ignored. */
  readonly hidden?: readonly string[];
  /** Directories of the server above the state directory: users of pods may pass there where nothing can be mounted. */
  readonly above?: readonly string[];
  /** The machine's watchdog device, which backs the promise of the node. */
  readonly watchdogDevice?: string | undefined;
  /** Default: what a trial shows. */
  readonly abilities?: RuntimeAbilities;
}

export interface ProcessRuntime extends ContainerRuntime {
  /** Stops every process of every pod, then the supervisor. Afterwards nothing of this node runs any more. */
  shutdown(graceMs: number): Promise<void>;
}

const VERSION = 'holdfast-process://0.1.0';

export function createProcessRuntime(options: ProcessRuntimeOptions): ProcessRuntime {
  mkdirSync(options.stateDirectory, { recursive: true, mode: 0o700 });
  const stateDirectory = realpathSync(options.stateDirectory);
  const pods = createPodDirectories(stateDirectory);
  pods.sweep(recordedPods(stateDirectory));
  const abilities = prepareState(stateDirectory, options);
  const listeners = new Set<(podUid: string) => void>();
  const table = createProcessTable();
  let isShuttingDown = false;
  const tell = (podUid: string): void => {
    for (const listener of listeners) listener(podUid);
  };
  const connection: SupervisorConnection = createSupervisorConnection({
    stateDirectory,
    clock: options.clock,
    log: options.log,
    onChange: tell,
    onLost: () => void untilAnswered(options, () => !isShuttingDown && !connection.isClosed() && hasRecords(), tellAll),
  });
  /** Restarts a supervisor, so that the ends of containers are noticed, and triggers a pass for every pod. */
  const tellAll = async (): Promise<void> => {
    for (const { config } of await listSandboxes(connection, undefined)) tell(config.podUid);
  };
  const hasRecords = (): boolean => recordsExist(stateDirectory);
  const supervisor = supervisorCheck(connection, options.clock);
  const guard = createProcessGuard({ stateDirectory, clock: options.clock, hasSandboxes: hasRecords, supervisor });
  const calls = containerCalls(connection);
  const meter = createUsageMeter();
  // Without records there is nothing to adopt: the supervisor starts with the first pod.
  const list = async (podUid?: string): Promise<readonly NetworkedSandbox[]> =>
    connection.isOpen() || hasRecords() ? listSandboxes(connection, podUid) : [];
  const sandboxes = networkedSandboxes({ ...options, connection }, { ...calls, list });
  const close = closing([guard, sandboxes], connection);
  return {
    ...calls,
    ...sandboxes.calls,
    guard,
    abilities,
    userNamespaces: { mapsVolumes: false, refusal: () => Promise.resolve(userNamespaceRefusal()) },
    volumes: { path: pods.volumesPath, remove: pods.remove },
    streams: createProcessStreams({
      socketPath: socketPath(stateDirectory),
      ready: () => connection.ask({ method: 'version' }, REQUEST_DEADLINE_MS),
      list,
      network: options.network,
    }),
    version: () => Promise.resolve(VERSION),
    list: async (filter) => at(options.nodeAddress(), await list(filter?.podUid)),
    usage: async () => {
      const all = await list();
      return all.length === 0 ? [] : meter.measure(all, table.scan(), options.clock.now());
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    shutdown: async (graceMs) => {
      if (connection.isClosed()) return;
      isShuttingDown = true;
      await sandboxes.end(graceMs);
      // A supervisor without pods exits by itself after a while.
      if (connection.isOpen() || hasRecords() || existsSync(socketPath(stateDirectory)))
        await connection.ask({ method: 'shutdown', graceMs }, graceMs + DEATH_CONFIRM_MS + REQUEST_DEADLINE_MS);
      await close();
      pods.releaseMemory();
    },
    close,
  };
}

function recordsExist(stateDirectory: string): boolean {
  const directory = sandboxesDirectory(stateDirectory);
  return existsSync(directory) && readdirSync(directory).length > 0;
}

/**
 * One check per connection. A supervisor that does not respond in time may be stopped: it starts nothing meanwhile, and
 * the watchdog does not need it.
 */
function supervisorCheck(connection: SupervisorConnection, clock: Clock): () => Promise<void> {
  let isKnown = false;
  return async () => {
    if (isKnown && connection.isOpen()) return;
    isKnown = false;
    const asked = connection.ask({ method: 'keepsDeadline' }, WATCHDOG_ANSWER_MS).then(
      () => {
        isKnown = true;
        return undefined;
      },
      (error: unknown) => (error instanceof RuntimeError && error.code === 'Unsupported' ? error : undefined),
    );
    const refusal = await Promise.race([asked, clock.sleep(WATCHDOG_ANSWER_MS).then(() => undefined)]);
    if (refusal !== undefined)
      throw new RuntimeError(
        'Unsupported',
        'the supervisor is of an earlier version and cannot enforce deadlines: drain the node to replace it',
        refusal,
      );
  };
}

const closing = (parts: readonly { close(): void }[], connection: SupervisorConnection) => (): Promise<void> => {
  for (const part of parts) part.close();
  return connection.close();
};

/** Of pods on the machine's network the supervisor recorded the address of the time when the sandbox was made. */
const at = (ip: string, sandboxes: readonly NetworkedSandbox[]): readonly SandboxStatus[] =>
  sandboxes.map((sandbox) => (sandbox.network === undefined ? { ...sandbox, ip } : sandbox));

/** A full disk does not prevent the start: the supervisor keeps the previous limits. */
function keepLogLimits(stateDirectory: string, { logs = DEFAULT_LOG_LIMITS, log }: ProcessRuntimeOptions): void {
  try {
    writeLogLimits(stateDirectory, logs);
  } catch (error) {
    log.warn('the log limits could not be written: the previous limits stay in effect', { error });
  }
}

/** The same: a later supervisor uses what an earlier kubelet wrote, and starts nothing without it. */
function keepIsolation(
  stateDirectory: string,
  { hidden = [], log }: ProcessRuntimeOptions,
  hidesProcesses: boolean,
): void {
  const own = [stateDirectory, dirname(socketPath(stateDirectory))];
  const paths = [...own, CREDENTIALS_DIRECTORY, ...hidden].filter((path) => existsSync(path));
  try {
    writeNodeIsolation(stateDirectory, {
      hidden: [...new Set(paths.map((path) => realpathSync(path)))],
      hidesProcesses,
    });
  } catch (error) {
    log.warn('the paths that pods must not see could not be written: the previous list stays in effect', { error });
  }
}

/** Writes the supervisor's input, and determines what this user can provide to pods. */
function prepareState(stateDirectory: string, options: ProcessRuntimeOptions): RuntimeAbilities {
  keepLogLimits(stateDirectory, options);
  writeDevicePath(stateDirectory, options.watchdogDevice);
  const detected = detectAbilities();
  const own = options.network === undefined ? {} : ({ ownNetworks: true } as const);
  const abilities = { ...(options.abilities ?? detected.abilities), ...own };
  openWays(stateDirectory, abilities, options.above);
  keepIsolation(stateDirectory, options, detected.hidesProcesses);
  return abilities;
}

/** Without mounts a pod finds its directories at their real paths: other users may pass through, but not list them. */
function openWays(stateDirectory: string, { mounts, user }: RuntimeAbilities, above: readonly string[] = []): void {
  if (user !== 'any') return;
  for (const path of [stateDirectory, join(stateDirectory, 'pods')]) chmodSync(path, mounts ? 0o700 : 0o711);
  if (mounts) return;
  for (const path of above) chmodSync(path, (statSync(path).mode & 0o7777) | MAY_PASS);
}

const MAY_PASS = 0o011;

/** The directory for keys in this project's containers. */
const CREDENTIALS_DIRECTORY = '/etc/holdfast';

/** Repeats what asks the supervisor, and thereby starts one, until it answers or is needed no more. */
async function untilAnswered(
  { clock, log }: Pick<ProcessRuntimeOptions, 'clock' | 'log'>,
  isNeeded: () => boolean,
  ask: () => Promise<void>,
): Promise<void> {
  while (isNeeded()) {
    try {
      return await ask();
    } catch (error) {
      log.error('the supervisor is gone; it is started again', { error });
    }
    await clock.sleep(SUPERVISOR_RETRY_MS);
  }
}

type ContainerCalls = Omit<ContainerRuntime, 'version' | 'runSandbox' | 'list' | 'onChange' | 'close'>;

function containerCalls(connection: SupervisorConnection): ContainerCalls {
  const stopDeadline = (graceMs: number): number => graceMs + DEATH_CONFIRM_MS + REQUEST_DEADLINE_MS;
  return {
    stopSandbox: async (sandbox, graceMs) => {
      await connection.ask({ method: 'stopSandbox', sandbox, graceMs }, stopDeadline(graceMs));
    },
    removeSandbox: async (sandbox) => {
      await connection.ask({ method: 'removeSandbox', sandbox }, REQUEST_DEADLINE_MS);
    },
    createContainer: async (sandbox, config: ContainerConfig) => {
      const request = {
        method: 'createContainer',
        sandbox,
        config: { ...config, command: [...commandOf(config), ...config.args], args: [] },
      } as const;
      return decodeId(await connection.ask(request, REQUEST_DEADLINE_MS));
    },
    startContainer: async (container, startBeforeMs) => {
      const before = startBeforeMs === undefined ? {} : { startBeforeMs };
      await connection.ask({ method: 'startContainer', container, ...before }, REQUEST_DEADLINE_MS);
    },
    stopContainer: async (container, graceMs) => {
      await connection.ask({ method: 'stopContainer', container, graceMs }, stopDeadline(graceMs));
    },
    removeContainer: async (container) => {
      await connection.ask({ method: 'removeContainer', container }, REQUEST_DEADLINE_MS);
    },
    exec: async (container, command, timeoutMs) => {
      const request = { method: 'exec', container, command, timeoutMs } as const;
      return decodeExec(await connection.ask(request, timeoutMs + REQUEST_DEADLINE_MS));
    },
  };
}

async function listSandboxes(
  connection: SupervisorConnection,
  podUid: string | undefined,
): Promise<readonly SandboxStatus[]> {
  const request = podUid === undefined ? ({ method: 'list' } as const) : ({ method: 'list', podUid } as const);
  const answer = await connection.ask(request, REQUEST_DEADLINE_MS);
  if (!Array.isArray(answer)) throw new RuntimeError('Internal', 'the supervisor answered list without a list');
  return answer;
}

function decodeExec(answer: unknown): ExecResult {
  if (typeof answer === 'object' && answer !== null && 'exitCode' in answer) return answer as ExecResult;
  throw new RuntimeError('Internal', 'the supervisor answered exec without a result');
}
