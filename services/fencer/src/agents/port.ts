import type { NodeAddress } from '@holdfast/api';
import type { Json } from '@holdfast/machinery';

export type FenceScope = 'node' | 'storage';
export type FenceVerb = 'fence' | 'unfence' | 'status';

/** The request to an agent. One fence keeps its `requestId` from claim to end, even across restarts of the fencer. */
export interface FenceRequest {
  readonly action: FenceVerb;
  readonly requestId: string;
  readonly scope: FenceScope;
  readonly node: FencedNode;
  /** Storage servers that the node must no longer reach; only with `scope: storage`. */
  readonly servers: readonly string[];
  /** As in the configuration. */
  readonly parameters: Readonly<Record<string, Json>>;
}

export interface FencedNode {
  readonly name: string;
  readonly uid: string;
  readonly providerID: string;
  readonly addresses: readonly NodeAddress[];
  readonly labels: Readonly<Record<string, string>>;
}

/** `fenced` and `unfenced` are confirmed facts; `pending` means that the agent is still working. */
export type FenceState = 'fenced' | 'unfenced' | 'pending';

export interface FenceAnswer {
  readonly state: FenceState;
  readonly message: string;
}

/**
 * Cuts off a machine, or its path to a storage server, until it is unfenced. A repeated `fence` or `unfence` with the
 * same `requestId` changes nothing. Rejects on failure or when no answer came in time: then the state is unknown.
 */
export interface FenceAgent {
  readonly name: string;
  ask(request: FenceRequest, signal: AbortSignal): Promise<FenceAnswer>;
}
