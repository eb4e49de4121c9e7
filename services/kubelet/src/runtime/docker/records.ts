import { parseTime } from '@holdfast/platform';
import type { ContainerStatus, SandboxIdentity, SandboxStatus } from '../port.ts';
import type { InspectedContainer } from './engine-types.ts';
import { attemptOf, containerNameOf, imageOf, type Labels, storedSandbox } from './labels.ts';

const SIGNAL_BASE = 128;
const SIGNALS_MAX = 64;
const KILL = 9;
const START_FAILED = 128;

export const labelsOf = ({ Config }: Pick<InspectedContainer, 'Config'>): Labels => Config.Labels ?? {};

export interface SandboxRecord extends Omit<SandboxStatus, 'containers'> {
  /** It has the machine's address, which may change: read it each time. */
  readonly sharesNetwork: boolean;
}

export function sandboxRecord(found: InspectedContainer, volumesPath: (podUid: string) => string): SandboxRecord {
  const { namespaces: _namespaces, ...config } = storedSandbox(labelsOf(found));
  const [ip = '', ...moreIps] = addressesOf(found);
  return {
    id: found.Id,
    config: config satisfies SandboxIdentity,
    state: found.State.Running ? 'ready' : 'notReady',
    createdAt: milliseconds(found.Created),
    ip,
    sharesNetwork: found.HostConfig.NetworkMode === 'host',
    ...(moreIps.length === 0 ? {} : { moreIps }),
    volumesPath: volumesPath(config.podUid),
  };
}

/** The engine's first network: pods have only one. */
function addressesOf({ NetworkSettings }: InspectedContainer): readonly string[] {
  const networks = Object.values(NetworkSettings.Networks ?? {});
  const all = networks.flatMap(({ IPAddress = '', GlobalIPv6Address = '' }) => [IPAddress, GlobalIPv6Address]);
  return all.filter((each) => each !== '');
}

export interface ContainerPlace {
  readonly imageId: string;
  readonly logPath: string;
}

/** The life of a container in three states. One that could not be started never runs: the engine leaves it as created. */
export function stateOf({ State }: Pick<InspectedContainer, 'State'>): ContainerStatus['state'] {
  if (State.Running) return 'running';
  if (State.Status !== 'created') return 'exited';
  return State.Error === '' ? 'created' : 'exited';
}

export function containerRecord(found: InspectedContainer, { imageId, logPath }: ContainerPlace): ContainerStatus {
  const labels = labelsOf(found);
  const state = stateOf(found);
  const startedAt = startOf(found.State);
  return {
    id: found.Id,
    config: { name: containerNameOf(labels), image: imageOf(labels), restartCount: attemptOf(labels) },
    imageId,
    state,
    createdAt: milliseconds(found.Created),
    ...(startedAt > 0 ? { startedAt } : {}),
    ...(state === 'exited' ? exitOf(found) : {}),
    logPath,
    logFormat: 'cri',
  };
}

/** A busy engine notes the start of a short life after its end. */
function startOf({ StartedAt, FinishedAt, Running }: InspectedContainer['State']): number {
  const [started, finished] = [milliseconds(StartedAt), milliseconds(FinishedAt)];
  return Running || finished === 0 ? started : Math.min(started, finished);
}

function exitOf({ State, Created }: InspectedContainer): Partial<ContainerStatus> {
  const { ExitCode: exitCode, Error: message, OOMKilled, FinishedAt } = State;
  const finishedAt = milliseconds(FinishedAt);
  if (finishedAt <= 0)
    return { finishedAt: milliseconds(Created), exitCode: START_FAILED, reason: 'StartError', message };
  const signal = exitCode - SIGNAL_BASE;
  return {
    finishedAt,
    exitCode,
    ...(signal > 0 && signal <= SIGNALS_MAX ? { signal } : {}),
    reason: OOMKilled ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error',
    ...(message === '' ? {} : { message }),
  };
}

/** Stopped before it ever ran: it was removed immediately, so that nothing can start it any more. */
export function buriedRecord(record: ContainerStatus, now: number): ContainerStatus {
  return { ...record, state: 'exited', finishedAt: now, exitCode: SIGNAL_BASE + KILL, signal: KILL, reason: 'Error' };
}

/** 0 for the engine's "never", which is the year 1. */
const milliseconds = (text: string): number => Math.max(0, parseTime(text) ?? 0);
