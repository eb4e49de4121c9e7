import { MAX_REMEMBERED_CHANNELS, MAX_TAILS_PER_HEARTBEAT, TAIL_WINDOW_MS } from './limits.ts';

/** Last revision of every channel: links each message to the one before it, and tells heartbeats what changed lately. */
export interface ChannelTails {
  /** Makes `revision` the last of the channel. Answers the last before, or one below which nothing is known of the channel. */
  advance(channel: string, revision: number, nowMs: number): number;
  /** Channels that changed lately, and are published up to `published`. */
  recent(nowMs: number, published: number): Readonly<Record<string, number>>;
  /** The walk starts anew after `place`. */
  restartAfter(place: number): void;
}

export function createChannelTails(): ChannelTails {
  /** In order of the last change, oldest first. */
  const tails = new Map<string, { readonly revision: number; readonly atMs: number }>();
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
      tails.set(channel, { revision, atMs: nowMs });
      if (tails.size > MAX_REMEMBERED_CHANNELS) forgetOldest();
      return before;
    },
    recent(nowMs, published) {
      const lately = [...tails].filter(([, tail]) => nowMs - tail.atMs <= TAIL_WINDOW_MS && tail.revision <= published);
      return Object.fromEntries(
        lately.slice(-MAX_TAILS_PER_HEARTBEAT).map(([channel, tail]) => [channel, tail.revision]),
      );
    },
    restartAfter(place) {
      tails.clear();
      knownAbove = place;
    },
  };
}
