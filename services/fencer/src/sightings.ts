import { type Node, nodeCondition } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import { claimOf } from './domain/marks.ts';

interface Sighting {
  readonly stamp: string;
  readonly sinceMs: number;
}

/**
 * The time since which this process observes something, on its own clock: it never compares with times of other clocks.
 * A condition that ended and began again between two passes has another stamp and starts again.
 */
export class Sightings {
  readonly #clock: Clock;
  readonly #partitions = new Map<string, Sighting>();
  readonly #claims = new Map<string, Sighting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  partition(node: Node, isPartitioned: boolean): number | undefined {
    const stamp = isPartitioned
      ? `${node.metadata.uid} ${nodeCondition(node, 'Ready')?.lastTransitionTime}`
      : undefined;
    return this.#since(this.#partitions, node, stamp);
  }

  claim(node: Node): number | undefined {
    return this.#since(this.#claims, node, claimOf(node)?.requestId);
  }

  forget(name: string): void {
    this.#partitions.delete(name);
    this.#claims.delete(name);
  }

  /** Number of nodes that look disconnected now. */
  partitioned(): number {
    return this.#partitions.size;
  }

  #since(known: Map<string, Sighting>, { metadata }: Node, stamp: string | undefined): number | undefined {
    const name = metadata.name ?? '';
    const before = known.get(name);
    if (stamp === undefined) known.delete(name);
    else if (before?.stamp !== stamp) known.set(name, { stamp, sinceMs: this.#clock.monotonic() });
    return known.get(name)?.sinceMs;
  }
}
