import type { Random } from '@holdfast/platform';
import { type SimulationKernel, TICK_MS } from './kernel.ts';

/** How one direction between two parties behaves. */
export interface LinkQuality {
  readonly minLatencyMs: number;
  readonly maxLatencyMs: number;
  /** Chance that a message is lost, 0..1. */
  readonly loss: number;
  /** Chance that a datagram arrives twice, 0..1. Streams and calls are never doubled: their transport numbers them. */
  readonly duplication: number;
}

const GOOD_LINK: LinkQuality = { minLatencyMs: 0.2, maxLatencyMs: 2, loss: 0, duplication: 0 };

/** Every ordered pair of parties has a link of its own, so one-way cuts are as easy as whole ones. */
export class SimulatedNetwork {
  readonly #kernel: SimulationKernel;
  /** A stream per link: what is sent on one of them changes nothing for the others. */
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

  /** Cuts a party from everybody, both ways. */
  isolate(party: string): void {
    for (const other of this.#parties) {
      if (other === party) continue;
      this.block(party, other);
      this.block(other, party);
    }
  }

  /** Undoes every cut that names this party. */
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
   * A part of a connection: delivered once or lost, after the link's latency. The cut counts when it is sent and when it would
   * arrive. Returns the time of arrival, so that a stream can keep its order: what comes after it is `notBeforeMs` that time.
   */
  send(options: {
    from: string;
    to: string;
    label: string;
    deliver: () => void;
    lost?: () => void;
    notBeforeMs?: number;
  }): number {
    const path = link(options.from, options.to);
    const random = this.#randomOf(path);
    const quality = this.#quality.get(path) ?? GOOD_LINK;
    const span = quality.maxLatencyMs - quality.minLatencyMs;
    const latency = quality.minLatencyMs + random.float() * span;
    // Strictly after: events at the same time happen in an order that the seed draws.
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

  /** A message without a connection: may also arrive twice, and out of order. */
  sendDatagram(options: { from: string; to: string; label: string; deliver: () => void }): void {
    const path = link(options.from, options.to);
    const quality = this.#quality.get(path) ?? GOOD_LINK;
    const copies = this.#randomOf(path).float() < quality.duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) this.send(options);
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
