import type { Lease, Node } from '@holdfast/api';
import { nameOf, uidOf } from '../../common/meta.ts';
import { readyCondition } from './taints.ts';

/** The memory about one node. Times are this process's own monotonic milliseconds; the node's clock is never used. */
interface HeardNode {
  /** Changes with every heartbeat. Its time is ignored. */
  readonly heartbeat: string;
  readonly heardAtMs: number;
  /** Result of the last evaluation of all nodes. A later heartbeat ends the silence. */
  readonly isSilent: boolean;
}

export interface HearingLimits {
  readonly graceMs: number;
  readonly startupGraceMs: number;
  /** After this long without an evaluation of all nodes, nothing is known about any node. */
  readonly stallMs: number;
}

export type LeaseOf = (node: string) => Lease | undefined;

/**
 * Tracks the last heartbeat of each node. A single heartbeat can only end a node's silence. Whether silence counts is
 * decided in evaluations of all nodes, because it depends on the others: while this process could not receive
 * heartbeats, silence proves nothing.
 */
export class Hearing {
  #nodes = new Map<string, HeardNode>();
  #lookedAtMs: number | undefined;
  /** No node has sent a heartbeat for a while: this process may be unable to receive any. */
  #isBlind = false;

  isSilent(name: string): boolean {
    return this.#nodes.get(name)?.isSilent === true;
  }

  forget(name: string): void {
    this.#nodes.delete(name);
  }

  /** Takes note of one node. False when only a look at all nodes can tell what follows. */
  listenToOne(node: Node, leaseOf: LeaseOf, nowMs: number, limits: HearingLimits): boolean {
    if (this.#lookedAtMs === undefined || nowMs - this.#lookedAtMs > limits.stallMs) return false;
    const name = nameOf(node);
    const heartbeat = heartbeatOf(node, leaseOf(name));
    if (this.#nodes.get(name)?.heartbeat === heartbeat) return true;
    if (this.#isBlind) return false;
    this.#nodes.set(name, { heartbeat, heardAtMs: nowMs, isSilent: false });
    return true;
  }

  /**
   * Takes note of all nodes and judges their silence. The timers of all start again when this process was stopped for a while or
   * when it hears somebody again after hearing nobody.
   */
  listenToAll(nodes: readonly Node[], leaseOf: LeaseOf, nowMs: number, limits: HearingLimits): void {
    const stalled = this.#lookedAtMs !== undefined && nowMs - this.#lookedAtMs > limits.stallMs;
    let freshest = Number.NEGATIVE_INFINITY;
    const heard = nodes.map((node) => {
      const heartbeat = heartbeatOf(node, leaseOf(nameOf(node)));
      const before = this.#nodes.get(nameOf(node));
      const heardAtMs = before?.heartbeat === heartbeat ? before.heardAtMs : nowMs;
      freshest = Math.max(freshest, heardAtMs);
      return { node, heartbeat, heardAtMs };
    });
    const isBlind = nodes.length > 0 && nowMs - freshest > limits.graceMs / 2;
    const restart = stalled || (this.#isBlind && !isBlind);
    const isOverdue = ({ node, heardAtMs }: (typeof heard)[number]): boolean =>
      !restart && nowMs - heardAtMs > (readyCondition(node) === undefined ? limits.startupGraceMs : limits.graceMs);
    this.#isBlind = isBlind && !restart;
    // While blind, no node is evaluated until every single one has been silent too long.
    const mayJudge = !this.#isBlind || heard.every(isOverdue);
    this.#nodes = new Map(
      heard.map((each) => {
        const heardAtMs = restart ? nowMs : each.heardAtMs;
        return [nameOf(each.node), { heartbeat: each.heartbeat, heardAtMs, isSilent: mayJudge && isOverdue(each) }];
      }),
    );
    this.#lookedAtMs = nowMs;
  }
}

function heartbeatOf(node: Node, lease: Lease | undefined): string {
  return `${uidOf(node)} ${lease?.spec.renewTime ?? ''} ${readyCondition(node)?.lastHeartbeatTime ?? ''}`;
}
