import type { KubeObject } from '@holdfast/api';
import type { InformerChange } from '@holdfast/client';
import type { Clock } from '@holdfast/platform';
import {
  PACED_FROM_PODS,
  PACED_PASS_GAP_MAX_MS,
  PACED_PASS_GAP_MIN_MS,
  PACED_PODS_PER_MS,
  PACED_REST_PER_LOOK,
} from '../limits.ts';
import { generationOf, isTerminating } from './meta.ts';

/**
 * A pass reads every pod of its owner, and every changed pod triggers a pass: for ten thousand pods that would be a
 * hundred million reads. So passes over owners of many pods are rate-limited; changes in between wait.
 */
export class Pacing {
  readonly #nextAtMs = new Map<string, number>();
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Returns how long this key must wait; `undefined` when a pass may run now. */
  waitMs(key: string): number | undefined {
    const waitMs = (this.#nextAtMs.get(key) ?? 0) - this.#clock.monotonic();
    return waitMs > 0 ? waitMs : undefined;
  }

  /** `lookedMs` is how long the look took: on a machine with little time to spare passes must not eat what there is. */
  passed(key: string, pods: number, lookedMs = 0): void {
    if (pods < PACED_FROM_PODS) this.#nextAtMs.delete(key);
    else this.#nextAtMs.set(key, this.#clock.monotonic() + gapMs(pods, lookedMs));
  }

  /** A new wish of the owner does not wait; its own status, which every pass may write, does. */
  ownerChanged({ key, object, old }: InformerChange<KubeObject>): void {
    const isSameWish =
      object !== undefined &&
      old !== undefined &&
      generationOf(object) === generationOf(old) &&
      isTerminating(object) === isTerminating(old);
    if (!isSameWish) this.forget(key);
  }

  forget(key: string): void {
    this.#nextAtMs.delete(key);
  }
}

const gapMs = (pods: number, lookedMs: number): number =>
  Math.min(
    PACED_PASS_GAP_MAX_MS,
    Math.max(PACED_PASS_GAP_MIN_MS, pods / PACED_PODS_PER_MS, lookedMs * PACED_REST_PER_LOOK),
  );
