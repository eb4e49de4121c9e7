import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { ALL_ENTRANCE_CONNECTIONS_MAX, ENTRANCE_CONNECTIONS_MAX, ENTRANCE_HALF_CLOSED_MS } from '../limits.ts';
import type { Dial, Place } from './port.ts';
import { mayTake } from './shares.ts';

export interface CarriedThrough {
  /** Names the open port. */
  readonly entrance: string;
  /** The namespace of what is behind it. */
  readonly namespace: string;
  readonly to: Place;
}

/** Programs of the machine are not told apart by their address. */
const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1';

/** Carries connections from open ports to endpoints, and bounds their number. */
export class Connections {
  readonly #dial: Dial;
  readonly #halfClosedMs: number;
  /** Counts by namespace, by entrance, and by entrance and client. */
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(dial: Dial, halfClosedMs = ENTRANCE_HALF_CLOSED_MS) {
    this.#dial = dial;
    this.#halfClosedMs = halfClosedMs;
  }

  /** Takes over `inner`. */
  async carry(inner: Socket, { entrance, namespace, to }: CarriedThrough): Promise<void> {
    if (!this.#isWelcome(inner, entrance, namespace)) return void inner.destroy();
    try {
      const outer = await this.#dial(to);
      if (inner.destroyed) return void outer.destroy();
      join(inner, outer, this.#halfClosedMs);
    } catch {
      // The client sees what it would see of an endpoint that is gone: the end of its connection.
      inner.resetAndDestroy();
    }
  }

  #isWelcome(socket: Socket, entrance: string, namespace: string): boolean {
    const client = socket.remoteAddress ?? '';
    const keys = [`namespace ${namespace}`, `entrance ${entrance}`, `client ${entrance} ${client}`] as const;
    const [ofNamespace, ofEntrance, ofClient] = keys.map((key) => this.#open.get(key) ?? 0) as [number, number, number];
    const isFair =
      mayTake({ own: ofNamespace, all: this.#all, most: ALL_ENTRANCE_CONNECTIONS_MAX }) &&
      (isLoopback(client) || mayTake({ own: ofClient, all: ofEntrance, most: ENTRANCE_CONNECTIONS_MAX }));
    if (!isFair || ofEntrance >= ENTRANCE_CONNECTIONS_MAX) return false;
    this.#count(keys, 1);
    socket.on('close', () => this.#count(keys, -1));
    return true;
  }

  #count(keys: readonly string[], by: 1 | -1): void {
    this.#all += by;
    for (const key of keys) {
      const count = (this.#open.get(key) ?? 0) + by;
      if (count === 0) this.#open.delete(key);
      else this.#open.set(key, count);
    }
  }
}

/** Either side may end its half first, and the other may then send on; an error ends both. */
function join(inner: Socket, outer: Socket, halfClosedMs: number): void {
  const destroy = (): void => {
    inner.destroy();
    outer.destroy();
  };
  const end = (error?: Error | null): void => {
    if (error) destroy();
  };
  // An endpoint that hangs would else keep the places of clients that have gone.
  inner.once('end', () => outer.setTimeout(halfClosedMs, destroy));
  outer.once('end', () => inner.setTimeout(halfClosedMs, destroy));
  pipeline(inner, outer, end);
  pipeline(outer, inner, end);
}
