import type { Random } from '@holdfast/platform';
import { type SimulationKernel, TICK_MS } from './kernel.ts';

/** The behaviour of one direction between two parties. */
export interface LinkQuality {
  readonly minLatencyMs: number;
  readonly maxLatencyMs: number;
  /** Probability that a message is lost, 0..1. */
  readonly loss: number;
  /**
   * Probability that a datagram arrives twice, 0..1. Streams and calls are never duplicated: their transport numbers
   * them.
   */
  readonly duplication: number;
}

const GOOD_LINK: LinkQuality = { minLatencyMs: 0.2, maxLatencyMs: 2, loss: 0, duplication: 0 };

/** Every ordered pair of parties has its own link, so one-way cuts are possible. */
export class SimulatedNetwork {
  readonly #kernel: SimulationKernel;
  /** One stream per link: traffic on one link changes nothing for the others. */
  readonly #randoms = new Map<string, Random>();
  readonly #blocked = new Set<string>();
  readonly #quality = new Map<string, LinkQuality>();
  readonly #parties = new Set<string>();

  constructor(kernel: SimulationKernel) {
    this.#kernel = kernel;
  }

  join(party: string): void {
    this.#parties.add(party);
  }

  setQuality(from: string, to: string, quality: Partial<LinkQuality>): void {
    this.#quality.set(link(from, to), { ...GOOD_LINK, ...quality });
  }

  /** Cuts one direction. */
  block(from: string, to: string): void {
    this.#blocked.add(link(from, to));
    this.#kernel.record(`block ${from}>${to}`);
  }

  unblock(from: string, to: string): void {
    this.#blocked.delete(link(from, to));
    this.#kernel.record(`unblock ${from}>${to}`);
  }

  /** Cuts a party from all others, in both directions. */
  isolate(party: string): void {
    for (const other of this.#parties) {
      if (other === party) continue;
      this.block(party, other);
      this.block(other, party);
    }
  }

  /** Removes every cut that names this party. */
  rejoin(party: string): void {
    for (const other of this.#parties) {
      if (other === party) continue;
      this.unblock(party, other);
      this.unblock(other, party);
    }
  }

  isBlocked(from: string, to: string): boolean {
    return this.#blocked.has(link(from, to));
  }

  /**
   * Sends a part of a connection: it arrives once or is lost, after the latency of the link. A cut counts both at the
   * time of sending and at the time of arrival. Returns the time of arrival; the next part of an ordered stream passes
   * it as `notBeforeMs`.
   */
  send(options: {
    from: string;
    to: string;
    label: string;
    deliver: () => void;
    lost?: () => void;
    notBeforeMs?: number;
    lateMs?: number;
  }): number {
    const path = link(options.from, options.to);
    const random = this.#randomOf(path);
    const quality = this.#quality.get(path) ?? GOOD_LINK;
    const span = quality.maxLatencyMs - quality.minLatencyMs;
    const latency = (options.lateMs ?? 0) + quality.minLatencyMs + random.float() * span;
    // Strictly after: the seed draws the order of events at the same time.
    const delayMs = Math.max(latency, (options.notBeforeMs ?? 0) - this.#kernel.elapsedMs + TICK_MS);
    const isLost = random.float() < quality.loss;
    const lostNow = this.#blocked.has(path) || isLost;
    const arrivesAtMs = this.#kernel.schedule({
      delayMs,
      label: `${path} ${options.label}`,
      owner: path,
      at: options.to,
      fire: () => {
        if (lostNow || this.#blocked.has(path)) options.lost?.();
        else options.deliver();
      },
    });
    return arrivesAtMs;
  }

  /** Sends a message without a connection. It may also arrive twice and out of order, and `lateMs` later than others. */
  sendDatagram({
    lateMs = 0,
    ...options
  }: {
    from: string;
    to: string;
    label: string;
    deliver: () => void;
    lateMs?: number;
  }): void {
    const path = link(options.from, options.to);
    const quality = this.#quality.get(path) ?? GOOD_LINK;
    const copies = this.#randomOf(path).float() < quality.duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) this.send({ ...options, lateMs });
  }

  #randomOf(path: string): Random {
    const known = this.#randoms.get(path);
    if (known !== undefined) return known;
    const random = this.#kernel.random(`network/${path}`);
    this.#randoms.set(path, random);
    return random;
  }
}

function link(from: string, to: string): string {
  return `${from}>${to}`;
}
