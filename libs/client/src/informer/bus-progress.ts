import { type BusMessage, channelOf, type Heartbeat, matchesSubject, onlyChannelOf } from '@holdfast/bus';

export type Continuity = 'next' | 'seen' | 'gap';

/**
 * `lost`: a channel was behind in two heartbeats and got nothing in between, the publishers omitted a change, or so
 * many heartbeats are missing that a changed channel may no longer be named.
 */
export type HeartbeatFinding = 'current' | 'behind' | 'lost';

/**
 * Tracks whether a consumer got everything from the bus. `floor` is the revision up to which its copy is complete;
 * above it each channel has a chain of its own. Unlike a new chain after every list, this keeps messages above the
 * floor, so that recovery ends even under constant load.
 */
export class BusProgress {
  readonly #patterns: readonly string[];
  /** All followed channels, when the patterns name them. */
  readonly #channels: readonly string[] | undefined;
  readonly #lastOf = new Map<string, number>();
  #behindBefore = new Map<string, number>();
  #floor = 0;

  constructor(patterns: readonly string[]) {
    this.#patterns = patterns;
    const channels = patterns.flatMap((pattern) => onlyChannelOf(pattern) ?? []);
    this.#channels = channels.length === patterns.length ? channels : undefined;
  }

  floor(): number {
    return this.#floor;
  }

  completeTo(revision: number): void {
    if (revision <= this.#floor) return;
    this.#floor = revision;
    for (const [channel, last] of this.#lastOf) if (last <= revision) this.#lastOf.delete(channel);
  }

  /** A new history begins: knowledge about the previous one is invalid. */
  restart(): void {
    this.#floor = 0;
    this.#lastOf.clear();
    this.#behindBefore.clear();
  }

  /** A publisher that just took over does not know the previous messages. That counts as a gap, once per channel. */
  observe(message: Pick<BusMessage, 'subject' | 'revision' | 'previous'>): Continuity {
    const channel = channelOf(message.subject);
    const last = this.#last(channel);
    if (message.revision <= last) return 'seen';
    this.#lastOf.set(channel, message.revision);
    return message.previous === undefined || message.previous > last ? 'gap' : 'next';
  }

  /** A heartbeat may overtake changes in flight, so only two in a row prove a loss. */
  observeHeartbeat(heartbeat: Heartbeat): HeartbeatFinding {
    const behind = new Map<string, number>();
    for (const channel of this.#followedOf(heartbeat)) {
      const last = this.#last(channel);
      if ((heartbeat.tails[channel] ?? 0) > last) behind.set(channel, last);
    }
    const lost = [...behind].some(([channel, last]) => this.#behindBefore.get(channel) === last);
    this.#behindBefore = behind;
    if (lost || heartbeat.since > this.#floor) return 'lost';
    // Below `quiet` the heartbeat says nothing about channels that it does not name.
    if (heartbeat.quiet > this.#floor) return heartbeat.crowded === true ? 'behind' : 'lost';
    return behind.size === 0 ? 'current' : 'behind';
  }

  takes(subject: string): boolean {
    return this.#patterns.some((pattern) => matchesSubject(pattern, subject));
  }

  #last(channel: string): number {
    return Math.max(this.#floor, this.#lastOf.get(channel) ?? 0);
  }

  /** A heartbeat names up to hundreds of channels, while each of thousands of nodes follows only one. */
  #followedOf({ tails }: Heartbeat): readonly string[] {
    if (this.#channels !== undefined) return this.#channels;
    // A pattern takes a channel either whole or not at all, so any subject of the channel decides.
    return Object.keys(tails).filter((channel) => this.takes(`${channel}.any.any`));
  }
}
