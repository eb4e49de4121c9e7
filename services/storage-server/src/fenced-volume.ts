import type { VolumeBackend, VolumeData } from './backends/port.ts';
import { judgeToken } from './domain/judge-token.ts';

/** The writer belongs to an earlier attachment. */
export class StaleToken extends Error {
  override readonly name = 'StaleToken';
  /** False when this token was refused before: such a writer may ask again without a pause. */
  readonly isFirst: boolean;

  constructor(volume: string, token: number, at: { readonly seen: number; readonly isFirst: boolean }) {
    super(`volume ${volume} was opened with token ${at.seen}: the token ${token} is of an earlier attachment`);
    this.isFirst = at.isFirst;
  }
}

/**
 * One volume and the greatest token seen. Everything happens in one queue: a write has either ended before a greater
 * token is accepted, or is refused.
 */
export class FencedVolume {
  readonly #name: string;
  readonly #backend: VolumeBackend;
  #queue: Promise<unknown> = Promise.resolve();
  #floor = 0;
  #durable = 0;
  #data: VolumeData | undefined;
  /** Their number is bounded by the attachments of the volume: only the kubelet makes a proof for a token. */
  readonly #refused = new Set<number>();

  constructor(name: string, backend: VolumeBackend) {
    this.#name = name;
    this.#backend = backend;
  }

  /** The greatest token seen. */
  token(): number {
    return this.#floor;
  }

  /** Resolves when the token is accepted, and on the disk. */
  open(token: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#load();
      await this.#accept(token);
    });
  }

  /** Rejects with `StaleToken` when a greater token has been seen by then. */
  run<T>(token: number, action: (data: VolumeData) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const data = await this.#load();
      await this.#accept(token);
      return action(data);
    });
  }

  /** Resolves when nothing is on its way. */
  async idle(): Promise<void> {
    await this.#queue;
  }

  async #load(): Promise<VolumeData> {
    if (this.#data !== undefined) return this.#data;
    const { token, data } = await this.#backend.open(this.#name);
    this.#durable = token;
    this.#floor = Math.max(this.#floor, token);
    this.#data = data;
    return data;
  }

  async #accept(token: number): Promise<void> {
    const verdict = judgeToken({ floor: this.#floor, durable: this.#durable }, token);
    if (verdict.kind === 'stale') throw this.#stale(token);
    // From here on an older writer is refused, also when the disk fails.
    this.#floor = token;
    if (verdict.kind === 'accept') return;
    await this.#backend.saveToken(this.#name, verdict.token);
    this.#durable = verdict.token;
  }

  #stale(token: number): StaleToken {
    const isFirst = !this.#refused.has(token);
    this.#refused.add(token);
    return new StaleToken(this.#name, token, { seen: this.#floor, isFirst });
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(action);
    this.#queue = turn.catch(() => {});
    return turn;
  }
}
