import {
  fenceOf,
  hasTaint,
  isFinishedPhase,
  isMirrorPod,
  isNodeReady,
  isOutOfService,
  isTerminating,
  type Node,
  type NodeCondition,
  OUT_OF_SERVICE_TAINT,
  type PersistentVolume,
  type Pod,
} from '@holdfast/api';
import type { AgentConfig, FencerConfiguration } from '../configuration/configuration.ts';
import { FENCED_LOOK_MS, LOOK_AGAIN_MS, TAKEOVER_MARGIN_MS } from '../limits.ts';
import {
  claimOf,
  FENCED_TAINT,
  type FenceClaim,
  fencedConditionOf,
  isMarked,
  RELEASE,
  REQUESTED,
  UNFENCE,
} from './marks.ts';
import { DETECTED, HELD_BACK, isFencing, OVER, signsOf, UNFENCED } from './partition.ts';
import { judge, type PolicyInput } from './policy.ts';
import { isAttachedTo, isServedBy, stillOpen } from './storage.ts';

export interface FenceSnapshot extends PolicyInput {
  /** All others. */
  readonly otherNodes: readonly Node[];
  /** The time since which this process has seen the partition without interruption, on its own clock. */
  readonly partitionedSinceMs: number | undefined;
  /** The time since which it has seen this claim. */
  readonly claimSeenSinceMs: number | undefined;
}

export interface FencerIdentity {
  readonly config: FencerConfiguration;
  readonly holder: string;
}

export type FenceAction =
  /** `warning`: what blocks the next step. */
  | { readonly kind: 'rest'; readonly lookAgainMs?: number; readonly warning?: string }
  /** Fenced=False: reports the state of the node. */
  | { readonly kind: 'tell'; readonly reason: string; readonly message: string; readonly lookAgainMs?: number }
  /** Fenced=Unknown: claims the fence by a compare-and-swap on the Node. */
  | { readonly kind: 'claim'; readonly claim: Omit<FenceClaim, 'requestId'> }
  /** Counts the fenced nodes again, now that the claim is stored. */
  | { readonly kind: 'count'; readonly claim: FenceClaim }
  /** The node is back before its claim was counted. No agent was called, so there is nothing to lift. */
  | { readonly kind: 'drop'; readonly message: string }
  | { readonly kind: 'fence' | 'lift'; readonly claim: FenceClaim }
  /** Removes users' annotations from a node that is not fenced: they would count as an answer to a later fence. */
  | { readonly kind: 'unmark' }
  /** Records that the fence is being lifted, before the request to the agent. */
  | { readonly kind: 'turn'; readonly claim: FenceClaim }
  | { readonly kind: 'keep-off'; readonly taint: string; readonly effect: 'NoSchedule' | 'NoExecute' }
  | { readonly kind: 'end-pods'; readonly pods: readonly Pod[] }
  | { readonly kind: 'break'; readonly volumes: readonly PersistentVolume[] };

/**
 * Detect, decide, fence, release: returns the next step for one node. The Node records each step before the next one
 * begins. Nothing that the node may still use is released before the condition Fenced reports the agent's confirmation.
 */
export function decide(fencer: FencerIdentity, snapshot: FenceSnapshot, now: number): FenceAction {
  const { node } = snapshot;
  const claim = claimOf(node);
  const condition = fencedConditionOf(node);
  if (claim === undefined) return isFencing(node) ? orphaned(node) : decideFresh(fencer, snapshot, now);
  if (claim.lifting === 'asked') return { kind: 'lift', claim };
  if (isMarked(node, UNFENCE)) return lift(snapshot, claim);
  if (condition?.status === 'True') return release(snapshot, claim);
  if (!mayWork(fencer, snapshot, claim, now)) return { kind: 'rest', lookAgainMs: LOOK_AGAIN_MS };
  if (claim.lifting === 'heard') return { kind: 'lift', claim };
  const isOver = claim.trigger === 'rule' && signsOf(node, snapshot.pods).length === 0;
  if (claim.isTentative === true)
    return isOver ? { kind: 'drop', message: 'the node is heard again' } : { kind: 'count', claim };
  // Nothing is confirmed and the node is back: undo what the agent may have done.
  return isOver ? turn(claim, 'heard') : { kind: 'fence', claim };
}

/** So a late effect of one request can never count as the answer to the other. */
const turn = (claim: FenceClaim, lifting: 'asked' | 'heard'): FenceAction => ({
  kind: 'turn',
  claim: { ...claim, lifting },
});

/**
 * Somebody removed the record of the fence. Without it the fencer cannot know what to lift, so a user must request it.
 */
const orphaned = (node: Node): FenceAction =>
  isMarked(node, UNFENCE)
    ? { kind: 'tell', reason: UNFENCED, message: 'the record of the fence is lost: no agent was called' }
    : { kind: 'rest', lookAgainMs: FENCED_LOOK_MS };

function decideFresh(fencer: FencerIdentity, snapshot: FenceSnapshot, now: number): FenceAction {
  const { node, pods, partitionedSinceMs } = snapshot;
  if (isMarked(node, UNFENCE)) return { kind: 'unmark' };
  const condition = fencedConditionOf(node);
  if (isMarked(node, REQUESTED)) return claimForUser(fencer, node, condition);
  const signs = signsOf(node, pods);
  if (signs.length === 0 || partitionedSinceMs === undefined) return well(condition);
  // A user lifted the fence and the node is not back yet: do not fence it again for the same partition.
  if (condition?.reason === UNFENCED) return { kind: 'rest' };
  const seen = `partitioned: ${signs.join(', ')}`;
  if (condition === undefined || condition.reason === OVER) return { kind: 'tell', reason: DETECTED, message: seen };
  const verdict = judge(fencer.config, snapshot);
  if (verdict.kind === 'never') return tellOnce(condition, { reason: DETECTED, message: `${seen}; ${verdict.why}` });
  const remainingMs = partitionedSinceMs + verdict.waitSeconds * 1000 - now;
  if (remainingMs > 0) {
    const told = tellOnce(condition, { reason: DETECTED, message: `${seen}; ${verdict.why}` });
    return { ...told, lookAgainMs: Math.min(remainingMs, LOOK_AGAIN_MS) };
  }
  const brake = heldBackBy(fencer.config, snapshot);
  if (brake !== undefined) return tellOnce(condition, { reason: HELD_BACK, message: `${seen}; ${brake}` });
  return { kind: 'claim', claim: claimBy(fencer, verdict.agent, { trigger: 'rule', ...verdict }) };
}

interface Telling {
  readonly reason: string;
  readonly message: string;
}

/** Always requeues: pods, budgets and other nodes change without an event here. */
function tellOnce(
  condition: NodeCondition | undefined,
  { reason, message }: Telling,
): Extract<FenceAction, { kind: 'rest' | 'tell' }> {
  if (condition?.reason === reason && condition.message === message)
    return { kind: 'rest', lookAgainMs: LOOK_AGAIN_MS };
  return { kind: 'tell', reason, message, lookAgainMs: LOOK_AGAIN_MS };
}

const well = (condition: NodeCondition | undefined): FenceAction =>
  condition === undefined || condition.reason === OVER
    ? { kind: 'rest' }
    : { kind: 'tell', reason: OVER, message: 'the node is heard again' };

/** A fault of the control plane or of a network looks like the loss of many nodes; machines die one by one. */
export function heldBackBy(
  { maxFenced }: FencerConfiguration,
  { otherNodes }: Pick<FenceSnapshot, 'otherNodes'>,
): string | undefined {
  if (!otherNodes.some(isNodeReady)) return 'held back: no other node is ready';
  const fenced = otherNodes.filter(isFencing).length;
  return fenced < maxFenced
    ? undefined
    : `held back: ${fenced} other node(s) are fenced, and maxFenced is ${maxFenced}`;
}

function claimForUser(fencer: FencerIdentity, node: Node, condition: NodeCondition | undefined): FenceAction {
  const agent = agentForUser(fencer.config, node);
  if (agent === undefined)
    return tellOnce(condition, { reason: HELD_BACK, message: 'requested, but no agent fences this node' });
  const why = 'requested by a user';
  return { kind: 'claim', claim: claimBy(fencer, agent, { trigger: 'request', why, waitSeconds: 0 }) };
}

function agentForUser({ agents, requestAgent }: FencerConfiguration, node: Node): AgentConfig | undefined {
  const able = agents.filter(({ nodes }) => nodes.matches(node.metadata.labels));
  if (requestAgent !== undefined) return able.find(({ name }) => name === requestAgent);
  return able.find(({ scope }) => scope === 'node');
}

function claimBy(
  { config, holder }: FencerIdentity,
  agent: AgentConfig,
  { trigger, why, waitSeconds }: Pick<FenceClaim, 'trigger'> & { readonly why: string; readonly waitSeconds: number },
): Omit<FenceClaim, 'requestId'> {
  const seen = trigger === 'rule' ? config.nodeMonitorGraceSeconds + waitSeconds : 0;
  const boundSeconds = seen + agent.timeoutMs / 1000;
  return {
    holder,
    agent: agent.name,
    scope: agent.scope,
    servers: agent.servers,
    trigger,
    reason: why,
    boundSeconds,
    ...(trigger === 'rule' ? { isTentative: true as const } : {}),
  };
}

/** The claiming fencer works on it. Another one takes over after enough time. */
function mayWork(
  { config, holder }: FencerIdentity,
  { claimSeenSinceMs }: FenceSnapshot,
  claim: FenceClaim,
  now: number,
): boolean {
  if (claim.holder === holder) return true;
  const agent = config.agents.find(({ name }) => name === claim.agent);
  const patienceMs = (agent?.timeoutMs ?? 0) + TAKEOVER_MARGIN_MS;
  return claimSeenSinceMs !== undefined && now - claimSeenSinceMs >= patienceMs;
}

/** Releases what a confirmed fence permits, in this order: no new pods, the end of the old ones, their volumes. */
function release(snapshot: FenceSnapshot, claim: FenceClaim): FenceAction {
  const { node, pods, volumes } = snapshot;
  const rest: FenceAction = { kind: 'rest', lookAgainMs: FENCED_LOOK_MS };
  if (claim.scope === 'storage') {
    const held = volumes.filter((volume) => isAttachedTo(volume, node) && isServedBy(volume, claim.servers));
    return held.length === 0 ? rest : { kind: 'break', volumes: held };
  }
  const isReleased = claim.trigger === 'rule' || isMarked(node, RELEASE);
  if (!isReleased) {
    return hasTaint(node, FENCED_TAINT) ? rest : { kind: 'keep-off', taint: FENCED_TAINT, effect: 'NoSchedule' };
  }
  if (!isOutOfService(node)) return { kind: 'keep-off', taint: OUT_OF_SERVICE_TAINT, effect: 'NoExecute' };
  const ending = pods.filter(mayEnd);
  if (ending.length > 0) return { kind: 'end-pods', pods: ending };
  const held = volumes.filter((volume) => isAttachedTo(volume, node));
  return held.length === 0 || fenceOf(node) !== 'node' ? rest : { kind: 'break', volumes: held };
}

/**
 * Static pods return with the machine. Pods that tolerate the taint asked to stay. Terminated pods that still exist
 * wait for the owner of their finalizer.
 */
const mayEnd = ({ metadata, spec, status }: Pod): boolean =>
  !isFinishedPhase(status.phase) &&
  (!isTerminating({ metadata }) || metadata.deletionGracePeriodSeconds !== 0) &&
  !isMirrorPod({ metadata }) &&
  !(spec.tolerations ?? []).some(
    ({ key, operator }) => key === OUT_OF_SERVICE_TAINT || ((key ?? '') === '' && operator === 'Exists'),
  );

/**
 * Restores storage only after the node has closed the volumes that it lost: its old processes would continue to write.
 */
function lift({ node, volumes }: FenceSnapshot, claim: FenceClaim): FenceAction {
  const open = stillOpen(
    node,
    volumes.filter((volume) => isServedBy(volume, claim.servers)),
  );
  if (claim.scope === 'node' || open.length === 0) return turn(claim, 'asked');
  const warning = `the fence stays until the node has closed the volumes that were taken from it: ${open.join(', ')}`;
  return { kind: 'rest', lookAgainMs: LOOK_AGAIN_MS, warning };
}
