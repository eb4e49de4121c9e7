import { ALL_ENTRANCE_CONNECTIONS_MAX, ENTRANCE_CONNECTIONS_MAX } from '../limits.ts';
import { mayTake } from './shares.ts';

export interface PlaceHolder {
  /** Names the open port. */
  readonly entrance: string;
  /** The namespace of what is behind it. */
  readonly namespace: string;
  /** The address of the client. */
  readonly client: string;
}

/** Programs of the machine are not told apart by their address. */
const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1';

/** A bounded number of connections through open ports, with shares for namespaces and clients. */
export class EntrancePlaces {
  /** Counts by namespace, by entrance, and by entrance and client. */
  readonly #held = new Map<string, number>();
  #all = 0;

  /** Returns how to give the place back, once; `undefined`: there is none. */
  take({ entrance, namespace, client }: PlaceHolder): (() => void) | undefined {
    const keys = [`namespace ${namespace}`, `entrance ${entrance}`, `client ${entrance} ${client}`] as const;
    const [ofNamespace, ofEntrance, ofClient] = keys.map((key) => this.#held.get(key) ?? 0) as [number, number, number];
    const isFair =
      mayTake({ own: ofNamespace, all: this.#all, most: ALL_ENTRANCE_CONNECTIONS_MAX }) &&
      (isLoopback(client) || mayTake({ own: ofClient, all: ofEntrance, most: ENTRANCE_CONNECTIONS_MAX }));
    if (!isFair || ofEntrance >= ENTRANCE_CONNECTIONS_MAX) return undefined;
    this.#count(keys, 1);
    return () => this.#count(keys, -1);
  }

  #count(keys: readonly string[], by: 1 | -1): void {
    this.#all += by;
    for (const key of keys) {
      const count = (this.#held.get(key) ?? 0) + by;
      if (count === 0) this.#held.delete(key);
      else this.#held.set(key, count);
    }
  }
}
