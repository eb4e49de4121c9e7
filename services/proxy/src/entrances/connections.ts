import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { ENTRANCE_HALF_CLOSED_MS } from '../limits.ts';
import { EntrancePlaces, type PlaceHolder } from './entrance-places.ts';
import type { Dial, Place } from './port.ts';

export interface CarriedThrough extends Omit<PlaceHolder, 'client'> {
  readonly to: Place;
}

/** Carries connections from open ports to endpoints, and bounds their number. */
export class Connections {
  readonly #dial: Dial;
  readonly #halfClosedMs: number;
  readonly #places: EntrancePlaces;

  constructor(dial: Dial, halfClosedMs = ENTRANCE_HALF_CLOSED_MS, places = new EntrancePlaces()) {
    this.#dial = dial;
    this.#halfClosedMs = halfClosedMs;
    this.#places = places;
  }

  /** Takes over `inner`. */
  async carry(inner: Socket, { to, ...through }: CarriedThrough): Promise<void> {
    const release = this.#places.take({ ...through, client: inner.remoteAddress ?? '' });
    if (release === undefined) return void inner.destroy();
    inner.on('close', release);
    try {
      const outer = await this.#dial(to);
      if (inner.destroyed) return void outer.destroy();
      join(inner, outer, this.#halfClosedMs);
    } catch {
      // The client sees what it would see of an endpoint that is gone: the end of its connection.
      inner.resetAndDestroy();
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
