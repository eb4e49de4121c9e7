import type { Lease, Node } from '@holdfast/api';
import { nameOf, uidOf } from '../../common/meta.ts';
import { readyCondition } from './taints.ts';

/** What is remembered of one node. Times are this process' own monotonic milliseconds; the node's clock is never asked. */
export interface HeardNode {
  /** Changes with every heartbeat. What it says of time is not looked at. */
  readonly heartbeat: string;
  readonly heardAtMs: number;
}

export interface Hearing {
  readonly nodes: ReadonlyMap<string, HeardNode>;
  readonly lookedAtMs: number | undefined;
  /** No node at all has been heard for a while: it may be us who hear nothing. */
  readonly isBlind: boolean;
}

export const FIRST_HEARING: Hearing = { nodes: new Map(), lookedAtMs: undefined, isBlind: false };

export interface HearingLimits {
  readonly graceMs: number;
  readonly startupGraceMs: number;
  /** Without a look for this long nothing is known about any node. */
  readonly stallMs: number;
}

/**
 * Takes note of what changed since the last look. Timers of all nodes start again when this process was stopped for a while
 * or when it hears somebody again after hearing nobody: silence that it could not have heard through proves nothing.
 */
export function listen(
  hearing: Hearing,
  picture: { readonly nodes: readonly Node[]; readonly leaseOf: (node: string) => Lease | undefined },
  nowMs: number,
  limits: HearingLimits,
): Hearing {
  const stalled = hearing.lookedAtMs !== undefined && nowMs - hearing.lookedAtMs > limits.stallMs;
  const heard = picture.nodes.map((node): [string, HeardNode] => {
    const heartbeat = heartbeatOf(node, picture.leaseOf(nameOf(node)));
    const before = hearing.nodes.get(nameOf(node));
    return [nameOf(node), before?.heartbeat === heartbeat ? before : { heartbeat, heardAtMs: nowMs }];
  });
  const freshest = Math.max(...heard.map(([, { heardAtMs }]) => heardAtMs));
  const isBlind = heard.length > 0 && nowMs - freshest > limits.graceMs / 2;
  const restart = stalled || (hearing.isBlind && !isBlind);
  const nodes = new Map(restart ? heard.map(([name, node]) => [name, { ...node, heardAtMs: nowMs }]) : heard);
  return { nodes, lookedAtMs: nowMs, isBlind: isBlind && !restart };
}

function heartbeatOf(node: Node, lease: Lease | undefined): string {
  return `${uidOf(node)} ${lease?.spec.renewTime ?? ''} ${readyCondition(node)?.lastHeartbeatTime ?? ''}`;
}

/** The nodes whose silence counts. While blind nobody is judged until every single one has been silent too long. */
export function silentNodes(hearing: Hearing, nodes: readonly Node[], limits: HearingLimits): ReadonlySet<string> {
  const nowMs = hearing.lookedAtMs ?? 0;
  const overdue = nodes.map(nameOf).filter((name, index) => {
    const heardAtMs = hearing.nodes.get(name)?.heardAtMs ?? nowMs;
    const node = nodes[index];
    const isNew = node === undefined || readyCondition(node) === undefined;
    return nowMs - heardAtMs > (isNew ? limits.startupGraceMs : limits.graceMs);
  });
  return new Set(hearing.isBlind && overdue.length < nodes.length ? [] : overdue);
}
