import {
  type ContainerStatus as ApiContainerStatus,
  isFinishedPhase,
  type Pod,
  type PodCondition,
  type PodStatus,
  qosClassOf,
} from '@holdfast/api';
import { semanticEqual } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type { SandboxStatus } from '../runtime/port.ts';
import { containerStatus, type StatusContext } from './container-status.ts';
import { podConditions } from './pod-conditions.ts';
import type { NodeFacts, PodAction, PodFailure, PodMemory } from './pod-worker-types.ts';
import { initHasFailed, initIsDone, lifeLookup, startsAgain } from './restart.ts';

/** The status the API should show for what this node knows. Fields and conditions of others are kept as they are. */
export function podStatus(context: StatusContext, node: NodeFacts, failure?: PodFailure): PodStatus {
  const { pod } = context;
  const old = pod.status;
  const containers = pod.spec.containers.map((each) => containerStatus(each, context));
  const initContainers = (pod.spec.initContainers ?? []).map((each) => containerStatus(each, context));
  // EPH-08: reported, without influence on anything else.
  const ephemeral = (pod.spec.ephemeralContainers ?? []).map((each) => containerStatus(each, context));
  const phase = podPhase(context, { containers, initContainers }, failure);
  const sandbox = context.sandboxes.at(-1);
  return {
    ...old,
    phase,
    ...(failure === undefined ? {} : { reason: failure.reason, message: failure.message }),
    conditions: withDisruption(podConditions(context, { phase, containers, initContainers }), failure, context.now),
    containerStatuses: containers,
    ...(initContainers.length > 0 ? { initContainerStatuses: initContainers } : {}),
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
    hostIP: node.address,
    hostIPs: [{ ip: node.address }],
    ...addresses(sandbox),
    qosClass: old.qosClass ?? qosClassOf(pod),
    startTime: old.startTime ?? formatTime(context.now),
  };
}

/** Marks pods that were disrupted without a fault of their own. */
function withDisruption(
  conditions: readonly PodCondition[],
  failure: PodFailure | undefined,
  now: number,
): PodCondition[] {
  if (failure?.disruption === undefined) return [...conditions];
  const told: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: failure.disruption,
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
  };
  return [...conditions.filter(({ type }) => type !== told.type), told];
}

/** A pod that never had anything here: it gets no container statuses. */
export function rejectedStatus(pod: Pod, { reason, message }: PodFailure, now: number): PodStatus {
  const { qosClass: known, startTime = formatTime(now) } = pod.status;
  return { ...pod.status, phase: 'Failed', reason, message, startTime, qosClass: known ?? qosClassOf(pod) };
}

/** Addresses of its life, even after its end: without a sandbox they stay as reported. */
function addresses(sandbox: SandboxStatus | undefined): Pick<PodStatus, 'podIP' | 'podIPs'> {
  if (sandbox?.state !== 'ready' || sandbox.ip === '') return {};
  const { ip, moreIps = [] } = sandbox;
  return { podIP: ip, podIPs: [ip, ...moreIps].map((each) => ({ ip: each })) };
}

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

function podPhase(
  context: StatusContext,
  statuses: {
    readonly containers: readonly ApiContainerStatus[];
    readonly initContainers: readonly ApiContainerStatus[];
  },
  failure: PodFailure | undefined,
): Phase {
  const old = context.pod.status.phase;
  if (isFinishedPhase(old)) return old;
  if (context.stage === 'final')
    return failure === undefined && allSucceeded(statuses.containers) ? 'Succeeded' : 'Failed';
  const computed = context.stage === 'active' ? activePhase(context, statuses.containers) : 'Pending';
  return old === 'Running' && computed === 'Pending' ? 'Running' : computed;
}

function activePhase(context: StatusContext, containers: readonly ApiContainerStatus[]): Phase {
  const { pod, sandboxes } = context;
  const lifeOf = lifeLookup(pod, sandboxes);
  if (initHasFailed(pod, lifeOf)) return 'Failed';
  if (!initIsDone(context)) return 'Pending';
  const neverStarted = containers.some(
    ({ state, lastState }) => isWaiting(state) && lastState.terminated === undefined,
  );
  if (neverStarted) return 'Pending';
  const running = containers.some(({ state }) => state.running !== undefined);
  const willRestart = pod.spec.containers.some((container) => {
    const life = lifeOf(container);
    return life !== undefined && startsAgain('app', pod, life, context.memory);
  });
  if (running || willRestart) return 'Running';
  return allSucceeded(containers) ? 'Succeeded' : 'Failed';
}

const isWaiting = (state: ApiContainerStatus['state']): boolean =>
  state.running === undefined && state.terminated === undefined;

const allSucceeded = (containers: readonly ApiContainerStatus[]): boolean =>
  containers.every(({ state }) => state.terminated?.exitCode === 0);

/**
 * An object that already is the server's answer to this very status is left alone: a server that stores something a little
 * different would otherwise be written to for ever.
 */
export function writeIfChanged(pod: Pod, status: PodStatus, { acknowledged }: PodMemory): PodAction[] {
  if (semanticEqual(pod.status, status)) return [];
  const isAnswer = acknowledged !== undefined && acknowledged.resourceVersion === pod.metadata.resourceVersion;
  return isAnswer && semanticEqual(acknowledged.status, status) ? [] : [{ kind: 'writeStatus', status }];
}
