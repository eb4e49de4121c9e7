import { type BusMessage, channelOf, type Heartbeat, matchesSubject, onlyChannelOf } from '@holdfast/bus';

export type Continuity = 'next' | 'seen' | 'gap';

/**
 * `lost`: a channel that was behind at the heartbeat before got nothing since, the publishers left something out, or so many
 * heartbeats did not arrive that a channel may have moved and is not named any more.
 */
export type HeartbeatFinding = 'current' | 'behind' | 'lost';

/**
 * What a consumer knows about the completeness of what it got from the bus. `floor` is the revision up to which its copy
 * is known to be complete; above it every channel has a chain of its own. Unlike a fresh chain after every list, this one
 * keeps what arrived above the floor, so that healing under constant load ends.
 */
export class BusProgress {
  readonly #patterns: readonly string[];
  /** All that is followed, where the patterns say it by name. */
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

  /** Another history begins: nothing that was known of the one before counts. */
  restart(): void {
    this.#floor = 0;
    this.#lastOf.clear();
    this.#behindBefore.clear();
  }

  /** A publisher that just took over does not know what came before: that counts as a gap, once per channel. */
  observe(message: Pick<BusMessage, 'subject' | 'revision' | 'previous'>): Continuity {
    const channel = channelOf(message.subject);
    const last = this.#last(channel);
    if (message.revision <= last) return 'seen';
    this.#lastOf.set(channel, message.revision);
    return message.previous === undefined || message.previous > last ? 'gap' : 'next';
  }

  /** One heartbeat may overtake changes that are still on their way, so only two in a row prove a loss. */
  observeHeartbeat(heartbeat: Heartbeat): HeartbeatFinding {
    const behind = new Map<string, number>();
    for (const channel of this.#followedOf(heartbeat)) {
      const last = this.#last(channel);
      if ((heartbeat.tails[channel] ?? 0) > last) behind.set(channel, last);
    }
    const lost = [...behind].some(([channel, last]) => this.#behindBefore.get(channel) === last);
    this.#behindBefore = behind;
    if (lost || heartbeat.since > this.#floor) return 'lost';
    // Below this nobody says what the channels did that are not named.
    if (heartbeat.quiet > this.#floor) return heartbeat.crowded === true ? 'behind' : 'lost';
    return behind.size === 0 ? 'current' : 'behind';
  }

  takes(subject: string): boolean {
    return this.#patterns.some((pattern) => matchesSubject(pattern, subject));
  }

  #last(channel: string): number {
    return Math.max(this.#floor, this.#lastOf.get(channel) ?? 0);
  }

  /** A heartbeat names up to hundreds of channels, and of thousands of nodes each follows one of them. */
  #followedOf({ tails }: Heartbeat): readonly string[] {
    if (this.#channels !== undefined) return this.#channels;
    // A pattern takes a channel whole or not at all, so any subject of the channel tells.
    return Object.keys(tails).filter((channel) => this.takes(`${channel}.any.any`));
  }
}
