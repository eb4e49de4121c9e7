import { existsSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type Clock, describeError, OperatorError } from '@holdfast/platform';
import { networkPathOf } from '../embedded/data-directory.ts';
import { hasLock, isDataDirectoryInUse } from '../embedded/data-directory-lock.ts';
import { type ClusterHome, type ClusterRecord, contextOf, livingProcess, withoutProcess } from './cluster-home.ts';
import { launch, untilReady } from './launch.ts';
import { mayHavePods, usesContainers } from './left-pods.ts';
import { MadeKubeconfigs } from './made-kubeconfigs.ts';
import { isAlive, type ProcessIdentity, signalProcess } from './process-identity.ts';
import { removeContext } from './user-kubeconfig.ts';

/** Pods have their grace periods, and each component of the server up to 30 s. */
const STOP_WITHIN_MS = 180_000;
const POLL_MS = 25;

export interface EndingDeps {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a warning. */
  readonly tell: (line: string) => void;
}

/** Stops the server and the pods of a cluster, and takes its context out of the files that it was merged into. */
export async function stopCluster(home: ClusterHome, record: ClusterRecord, deps: EndingDeps): Promise<ClusterRecord> {
  const living = livingProcess(record);
  if (living !== undefined) await endProcess(home, living, deps.clock);
  else if (mayHavePods(home, record, deps.env)) await endForgottenPods(home, record, deps);
  else await refuseOtherUser(home);
  const made = new MadeKubeconfigs(home);
  for (const file of record.mergedInto) {
    const ours = { clock: deps.clock, isMade: made.has(file) };
    await removeContext(file, contextOf(home.name), ours).catch((error: unknown) =>
      // The user's file must not keep the cluster alive.
      deps.tell(`Warning: the context ${contextOf(home.name)} stays: ${describeError(error)}`),
    );
    if (!existsSync(file)) made.forget(file);
  }
  const stopped = { ...withoutProcess(record), mergedInto: [] };
  home.write(stopped);
  return stopped;
}

/** Removes everything of a cluster that was stopped. */
export function removeCluster(home: ClusterHome): void {
  const mounted = mountsBelow(home.folder);
  if (mounted[0] !== undefined) throw stillMounted(home, mounted[0]);
  try {
    // Outside the data directory when its path is long.
    rmSync(networkPathOf(home.dataDirectory), { recursive: true, force: true });
    rmSync(home.folder, { recursive: true, force: true, maxRetries: 5 });
  } catch (cause) {
    throw new OperatorError({
      code: 'ClusterNotRemoved',
      message: `the files of the cluster "${home.name}" cannot be removed: ${describeError(cause)}`,
      nextStep: `Remove ${home.folder} as the user who owns its files.`,
      cause,
    });
  }
  removeEmpty(path.dirname(home.folder));
}

/** The folder of all clusters goes with the last one. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Another cluster is in it.
  }
}

export async function endProcess(home: ClusterHome, identity: ProcessIdentity, clock: Clock): Promise<void> {
  signalProcess(identity, 'SIGTERM');
  const until = clock.monotonic() + STOP_WITHIN_MS;
  while (isAlive(identity)) {
    if (clock.monotonic() > until) throw notStopped(home, identity);
    await clock.sleep(POLL_MS);
  }
}

/** A server that was killed leaves the processes of its pods to the next one. So there is a next one, which ends in order. */
async function endForgottenPods(home: ClusterHome, record: ClusterRecord, deps: EndingDeps): Promise<void> {
  try {
    const { directory, flags } = record;
    // Nobody calls this server, and another cluster may have its port by now.
    const own = [...flags.filter((flag) => !flag.startsWith('--port=')), '--port=0'];
    const launched = await launch({ home, flags: own, directory, env: deps.env, detached: true });
    home.write({ ...record, process: launched.identity });
    try {
      await untilReady(launched, { home, clock: deps.clock, onStep: () => {} });
    } finally {
      await endProcess(home, launched.identity, deps.clock);
    }
  } catch (error) {
    throw podsLeft(home, usesContainers(home, record, deps.env), error);
  }
}

/** The directory may be shared: a process of another machine cannot be seen from here, but its lock can. */
async function refuseOtherUser(home: ClusterHome): Promise<void> {
  if (!hasLock(home.dataDirectory)) return;
  const isUsed = await isDataDirectoryInUse(home.dataDirectory).catch(() => false);
  if (isUsed) throw usedElsewhere(home);
}

/** To remove a directory must never remove the files of a mounted volume. */
function mountsBelow(folder: string): readonly string[] {
  if (!existsSync('/proc/self/mountinfo')) return [];
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
  return points.filter((point) => point.startsWith(`${folder}${path.sep}`));
}

const stillMounted = (home: ClusterHome, point: string): OperatorError =>
  new OperatorError({
    code: 'ClusterMounts',
    message: `the files of the cluster "${home.name}" stay: ${point} is still mounted`,
    nextStep: 'Unmount it, then repeat the command.',
  });

const podsLeft = (home: ClusterHome, areContainers: boolean, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'ClusterPodsLeft',
    message: `only a server can end the pods that the killed one of the cluster "${home.name}" left, and ${describeError(cause)}`,
    nextStep: areContainers
      ? `Correct that, then repeat the command. Or remove the containers of its pods yourself, then ${home.folder}.`
      : `Correct that, then repeat the command. Or restart this machine, which ends them: then the command needs no server.`,
    cause,
  });

const usedElsewhere = (home: ClusterHome): OperatorError =>
  new OperatorError({
    code: 'ClusterUsedElsewhere',
    message: `a process that is not known here uses ${home.dataDirectory}`,
    nextStep: 'Stop it first. It may run on another machine that has the same home directory.',
  });

const notStopped = (home: ClusterHome, { pid }: ProcessIdentity): OperatorError =>
  new OperatorError({
    code: 'ClusterNotStopped',
    message: `the cluster "${home.name}" still ends its pods after ${STOP_WITHIN_MS / 60_000} minutes (process ${pid})`,
    nextStep: `Repeat the command to wait longer; ${home.log} says what it waits for.`,
  });
