import type { NodeAddress } from '@holdfast/api';
import type { Json } from '@holdfast/machinery';

export type FenceScope = 'node' | 'storage';
export type FenceVerb = 'fence' | 'unfence' | 'status';

/** What an agent is asked. One fence has one `requestId` from its claim to its end, also over restarts of the fencer. */
export interface FenceRequest {
  readonly action: FenceVerb;
  readonly requestId: string;
  readonly scope: FenceScope;
  readonly node: FencedNode;
  /** Storage servers that the node must not reach any more; with `scope: storage` only. */
  readonly servers: readonly string[];
  /** As they stand in the configuration. */
  readonly parameters: Readonly<Record<string, Json>>;
}

export interface FencedNode {
  readonly name: string;
  readonly uid: string;
  readonly providerID: string;
  readonly addresses: readonly NodeAddress[];
  readonly labels: Readonly<Record<string, string>>;
}

/** `fenced` and `unfenced` are confirmed facts; `pending` says that the agent is still at work. */
export type FenceState = 'fenced' | 'unfenced' | 'pending';

export interface FenceAnswer {
  readonly state: FenceState;
  readonly message: string;
}

/**
 * Cuts a machine, or its way to a storage server, off for good and lets it back in. `fence` and `unfence` may be asked again with the
 * same `requestId` and then change nothing more. Rejects when it failed or gave no answer in time: nothing is known then.
 */
export interface FenceAgent {
  readonly name: string;
  ask(request: FenceRequest, signal: AbortSignal): Promise<FenceAnswer>;
}
