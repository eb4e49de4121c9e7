import { MAX_REMEMBERED_CHANNELS, MAX_TAILS_PER_HEARTBEAT, TAIL_WINDOW_MS } from './limits.ts';

/** Last revision of every channel: links each message to the one before it, and tells heartbeats what changed lately. */
export interface ChannelTails {
  /** Makes `revision` the last of the channel. Answers the last before, or one below which nothing is known of the channel. */
  advance(channel: string, revision: number, nowMs: number): number;
  /** What a heartbeat says of the channels at `published`. */
  recent(nowMs: number, published: number): RecentTails;
  /** The walk starts anew after `place`. */
  restartAfter(place: number): void;
}

export interface RecentTails {
  /** Channels that changed lately. */
  readonly tails: Readonly<Record<string, number>>;
  /** The channels that are not named have had nothing above this. */
  readonly quiet: number;
  /** More channels changed lately than can be named. */
  readonly crowded: boolean;
}

interface Tail {
  readonly revision: number;
  /** The one before: while `revision` is still on its way to the bus, this is what consumers can have. */
  readonly before: number;
  readonly atMs: number;
}

export function createChannelTails(): ChannelTails {
  /** In order of the last change, oldest first. */
  const tails = new Map<string, Tail>();
  /** Channels that are not in `tails` have had no message above this. */
  let knownAbove = 0;

  const forgetOldest = (): void => {
    for (const [channel, tail] of tails) {
      tails.delete(channel);
      knownAbove = tail.revision;
      return;
    }
  };

  return {
    advance(channel, revision, nowMs) {
      const before = tails.get(channel)?.revision ?? knownAbove;
      tails.delete(channel);
      tails.set(channel, { revision, before, atMs: nowMs });
      if (tails.size > MAX_REMEMBERED_CHANNELS) forgetOldest();
      return before;
    },
    recent(nowMs, published) {
      const all = [...tails].map(([channel, tail]) => ({ channel, last: lastAt(tail, published), atMs: tail.atMs }));
      const lately = all.filter(({ atMs }) => nowMs - atMs <= TAIL_WINDOW_MS);
      const named = lately.slice(-MAX_TAILS_PER_HEARTBEAT);
      const unnamed = all.slice(0, all.length - named.length);
      return {
        tails: Object.fromEntries(named.map(({ channel, last }) => [channel, last])),
        quiet: unnamed.reduce((highest, { last }) => Math.max(highest, last), knownAbove),
        crowded: named.length < lately.length,
      };
    },
    restartAfter(place) {
      tails.clear();
      knownAbove = place;
    },
  };
}

const lastAt = ({ revision, before }: Tail, published: number): number => (revision <= published ? revision : before);
