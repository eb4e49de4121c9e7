import type { MachineLink } from './machine-link.ts';

/** Messages between the control plane and the agent inside the network of pods: one JSON text a line, both ways. */
export type AgentRequest =
  /** A namespace with an address of this network. The same key gets the same one again. Groups have equal shares. */
  | { readonly method: 'attach'; readonly key: string; readonly network: string; readonly group?: string }
  | { readonly method: 'detach'; readonly key: string }
  | { readonly method: 'attached' }
  /** Addresses of the network's own, and what answers at them. Replaces the earlier ones. */
  | { readonly method: 'serve'; readonly relays: readonly Relay[] }
  /** Leads connections to other networks out, through the control plane. `network` is that of all pods. */
  | { readonly method: 'leadOut'; readonly network: string; readonly target: string }
  /** Leads programs of the machine in. Replaces an earlier link. */
  | ({ readonly method: 'linkMachine' } & MachineLink)
  /** Runs nft, which changes or lists the rules for all traffic between pods; the result is its output. */
  | ({ readonly method: 'nft' } & NftRun)
  | { readonly method: 'stop' };

export interface NftRun {
  readonly args: readonly string[];
  readonly input: string;
  /** Beside those that every helper has. */
  readonly variables?: Readonly<Record<string, string>>;
}

export type AgentLine = { readonly id: number } & AgentRequest;

export type AgentAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };

/** The namespace of a pod as others enter it. */
export interface Attachment {
  readonly key: string;
  readonly address: string;
  /** A file that exists as long as the agent does. */
  readonly path: string;
  /** The agent's process number. */
  readonly agent: number;
}

/** What arrives there is carried to a target outside. */
export interface Relay {
  readonly address: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
  readonly target: string;
}

/**
 * First line of a connection that becomes one into the network. With a `key`: to the loopback address of that pod. With
 * `udp`: datagrams follow in frames.
 */
export interface DialLine {
  readonly dial: { readonly host: string; readonly port: number; readonly key?: string; readonly protocol?: 'udp' };
}

/** Answer to it; the bytes of the connection follow. */
export type DialAnswer = { readonly connected: true } | { readonly refused: string };

/** First line of a connection from the agent to the outside. Datagrams follow in frames (`datagram-frames.ts`). */
export interface OutsideLine {
  readonly target: string;
  readonly protocol: 'tcp' | 'udp';
  /** The address of the pod. */
  readonly from?: string;
  /** Where a connection to another network leads. It is answered with a `DialAnswer`. */
  readonly to?: { readonly host: string; readonly port: number };
}
