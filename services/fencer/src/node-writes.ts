import {
  FENCED,
  NODE_FENCED,
  NODES,
  type Node,
  type NodeCondition,
  OUT_OF_SERVICE_TAINT,
  STORAGE_FENCED,
  type Taint,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, formatTime } from '@holdfast/platform';
import {
  CLAIM,
  encodeClaim,
  FENCED_TAINT,
  type FenceClaim,
  PARTITIONED,
  RELEASE,
  REQUESTED,
  UNFENCE,
} from './domain/marks.ts';
import { UNFENCED } from './domain/partition.ts';

/**
 * Records the steps of a fence. Every write names the revision of the Node on which the decision is based, so one of
 * two fencers is refused.
 */
export class NodeWrites {
  readonly #client: ApiClient;
  readonly #clock: Clock;

  constructor(client: ApiClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  tell(node: Node, reason: string, message: string): Promise<Node> {
    return this.#writeStatus(node, { status: 'False', reason, message });
  }

  claim(node: Node, claim: FenceClaim): Promise<Node> {
    const annotations = { ...node.metadata.annotations, [CLAIM]: encodeClaim(claim) };
    const noted = { ...node, metadata: { ...node.metadata, annotations } };
    const message = `${claim.reason}; agent ${claim.agent}, request ${claim.requestId}`;
    return this.#writeStatus(noted, { status: 'Unknown', reason: 'FencingStarted', message });
  }

  turn(node: Node, claim: FenceClaim): Promise<Node> {
    const annotations = { ...node.metadata.annotations, [CLAIM]: encodeClaim(claim) };
    return this.#client.update(NODES, { ...node, metadata: { ...node.metadata, annotations } });
  }

  /** The claim was counted: from now on its agent may be asked. */
  keep(node: Node, { isTentative: _counted, ...claim }: FenceClaim): Promise<Node> {
    return this.turn(node, claim);
  }

  /** Removes a claim whose agent was not asked yet: nothing has to be lifted, and a user's annotations stay. */
  retract(node: Node, reason: string, message: string): Promise<Node> {
    const { [CLAIM]: _claim, ...annotations } = node.metadata.annotations ?? {};
    const free = { ...node, metadata: { ...node.metadata, annotations } };
    return this.#writeStatus(free, { status: 'False', reason, message });
  }

  confirm(node: Node, claim: FenceClaim, answer: string): Promise<Node> {
    const reason = claim.scope === 'node' ? NODE_FENCED : STORAGE_FENCED;
    const said = answer === '' ? '' : `: ${answer}`;
    const message = `confirmed by agent ${claim.agent} for request ${claim.requestId}${said}`;
    return this.#writeStatus(node, { status: 'True', reason, message });
  }

  keepOff(node: Node, key: string, effect: Taint['effect']): Promise<Node> {
    const taints = [...(node.spec.taints ?? []).filter((taint) => taint.key !== key), { key, effect }];
    return this.#writeSpec(node, taints);
  }

  /** Removes the taints first: while the record of the fence exists, any fencer lifts it again. */
  async release(node: Node, reason: string, message: string): Promise<Node> {
    const kept = (node.spec.taints ?? []).filter(({ key }) => key !== OUT_OF_SERVICE_TAINT && key !== FENCED_TAINT);
    const free = kept.length === (node.spec.taints ?? []).length ? node : await this.#writeSpec(node, kept);
    return this.#clean(free, reason, message);
  }

  /** There were only annotations. The taints do not belong to the fencer then: users also set out-of-service taints. */
  unmark(node: Node, message: string): Promise<Node> {
    return this.#clean(node, UNFENCED, message);
  }

  #clean(node: Node, reason: string, message: string): Promise<Node> {
    const annotations = { ...node.metadata.annotations };
    for (const key of [CLAIM, UNFENCE, RELEASE, REQUESTED]) delete annotations[key];
    if (reason === UNFENCED) delete annotations[PARTITIONED];
    const clean = { ...node, metadata: { ...node.metadata, annotations } };
    return this.#writeStatus(clean, { status: 'False', reason, message });
  }

  #writeSpec(node: Node, taints: readonly Taint[]): Promise<Node> {
    return this.#client.update(NODES, { ...node, spec: { ...node.spec, taints: [...taints] } });
  }

  #writeStatus(node: Node, change: Pick<NodeCondition, 'status' | 'reason' | 'message'>): Promise<Node> {
    const now = formatTime(this.#clock.now());
    const conditions = node.status.conditions ?? [];
    const old = conditions.find(({ type }) => type === FENCED);
    const lastTransitionTime = old?.status === change.status ? (old.lastTransitionTime ?? now) : now;
    const next: NodeCondition = { type: FENCED, ...change, lastHeartbeatTime: now, lastTransitionTime };
    const others = conditions.filter(({ type }) => type !== FENCED);
    return this.#client.updateStatus(NODES, { ...node, status: { ...node.status, conditions: [...others, next] } });
  }
}
