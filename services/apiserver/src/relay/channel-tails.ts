import { MAX_REMEMBERED_CHANNELS, MAX_TAILS_PER_HEARTBEAT, TAIL_WINDOW_MS } from './limits.ts';

/**
 * Last revision of every channel: links each message to the previous one, and provides the recent changes for
 * heartbeats.
 */
export interface ChannelTails {
  /**
   * Makes `revision` the last of the channel. Returns the previous one, or the revision below which nothing is known.
   * `published`: the bus has every change up to here; `recent` may still have to separate later ones.
   */
  advance(channel: string, revision: number, at: { readonly nowMs: number; readonly published: number }): number;
  /** The state of the channels at `published` for a heartbeat. */
  recent(nowMs: number, published: number): RecentTails;
  /** The walk restarts after `place`. */
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
  /** Earlier ones, latest last: while later ones are in flight, consumers may be at one of these. */
  readonly before: readonly number[];
  readonly atMs: number;
}

export function createChannelTails(): ChannelTails {
  /** By the last change, oldest first. */
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
    advance(channel, revision, { nowMs, published }) {
      const tail = tails.get(channel);
      const last = tail?.revision ?? knownAbove;
      tails.delete(channel);
      tails.set(channel, { revision, before: stillNeeded(tail, last, published), atMs: nowMs });
      if (tails.size > MAX_REMEMBERED_CHANNELS) forgetOldest();
      return last;
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

/** The latest that is on the bus, and what is still on its way there. */
function stillNeeded(tail: Tail | undefined, last: number, published: number): readonly number[] {
  if (tail === undefined || last <= published) return [last];
  return [
    ...tail.before.slice(
      Math.max(
        0,
        tail.before.findLastIndex((each) => each <= published),
      ),
    ),
    last,
  ];
}

const lastAt = ({ revision, before }: Tail, published: number): number =>
  revision <= published ? revision : (before.findLast((each) => each <= published) ?? before[0] ?? 0);
