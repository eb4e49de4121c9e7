import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { ALL_ENTRANCE_CONNECTIONS_MAX, ENTRANCE_CONNECTIONS_MAX, ENTRANCE_HALF_CLOSED_MS } from '../limits.ts';
import type { Dial, Place } from './port.ts';

/** Carries connections from open ports to endpoints, and bounds their number. */
export class Connections {
  readonly #dial: Dial;
  readonly #halfClosedMs: number;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(dial: Dial, halfClosedMs = ENTRANCE_HALF_CLOSED_MS) {
    this.#dial = dial;
    this.#halfClosedMs = halfClosedMs;
  }

  /** Takes over `inner`. `entrance` names the port that it came through. */
  async carry(inner: Socket, { entrance, to }: { readonly entrance: string; readonly to: Place }): Promise<void> {
    if (!this.#isWelcome(inner, entrance)) return void inner.destroy();
    try {
      const outer = await this.#dial(to);
      if (inner.destroyed) return void outer.destroy();
      join(inner, outer, this.#halfClosedMs);
    } catch {
      // The client sees what it would see of an endpoint that is gone: the end of its connection.
      inner.resetAndDestroy();
    }
  }

  #isWelcome(socket: Socket, entrance: string): boolean {
    const count = this.#open.get(entrance) ?? 0;
    if (count >= ENTRANCE_CONNECTIONS_MAX || this.#all >= ALL_ENTRANCE_CONNECTIONS_MAX) return false;
    this.#open.set(entrance, count + 1);
    this.#all += 1;
    socket.on('close', () => {
      const left = (this.#open.get(entrance) ?? 1) - 1;
      if (left === 0) this.#open.delete(entrance);
      else this.#open.set(entrance, left);
      this.#all -= 1;
    });
    return true;
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
