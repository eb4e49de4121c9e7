import { channelOf } from '@holdfast/bus';
import type { ChannelWay } from '@holdfast/testing';

interface Fault {
  readonly resource: string;
  readonly way: ChannelWay;
}

/** What is wrong with what single processes hear of single kinds of objects. */
export class Channels {
  readonly #faults = new Map<string, Set<Fault>>();

  /** Returns what ends it. */
  worsen(party: string, resource: string, way: ChannelWay): () => void {
    const faults = this.#faults.get(party) ?? new Set();
    this.#faults.set(party, faults);
    const fault = { resource, way };
    faults.add(fault);
    return () => void faults.delete(fault);
  }

  /** Faults of one subscription do not add up: the worst counts. */
  wayOf(party: string): (subject: string) => ChannelWay | undefined {
    return (subject) => {
      const faults = this.#faults.get(party);
      if (faults === undefined || faults.size === 0) return undefined;
      const channel = channelOf(subject);
      const ways = [...faults].filter(({ resource }) => channel.endsWith(`.${resource}`)).map(({ way }) => way);
      return {
        isLost: ways.some(({ isLost }) => isLost === true),
        lateMs: Math.max(0, ...ways.map(({ lateMs = 0 }) => lateMs)),
      };
    };
  }
}
