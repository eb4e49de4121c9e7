import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Counts the unanswered requests of each connection of HTTP/1.1: while a client sends without waiting for answers Node reads on, and keeps
 * the answers in memory until their turn.
 */
export class Pipelines {
  readonly #unanswered = new WeakMap<Socket, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** False when the connection has ended, or ends now because too many of its requests are unanswered. */
  takes(socket: Socket, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const before = this.#of(socket);
    if (before >= this.#max) {
      socket.destroy();
      return false;
    }
    this.#unanswered.set(socket, before + 1);
    response.once('close', () => this.#unanswered.set(socket, this.#of(socket) - 1));
    return true;
  }

  #of(socket: Socket): number {
    return this.#unanswered.get(socket) ?? 0;
  }
}
