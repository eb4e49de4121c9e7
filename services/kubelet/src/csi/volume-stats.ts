import type { Clock } from '@holdfast/platform';
import { VOLUME_STATS_MS } from '../limits.ts';
import type { PodVolumeUsage } from './port.ts';

export type UsageByPod = ReadonlyMap<string, readonly PodVolumeUsage[]>;

/** The usage of volumes, asked of their drivers once a minute at most, and only when somebody asks. */
export class VolumeStats {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #read: () => Promise<UsageByPod>;
  #last: { readonly at: number; readonly usage: UsageByPod } | undefined;
  #reading: Promise<UsageByPod> | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>, read: () => Promise<UsageByPod>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The latest answers. Only who asks first waits for drivers: one that hangs does not delay every answer of the node. */
  async current(): Promise<UsageByPod> {
    const last = this.#last;
    if (last !== undefined && this.#clock.monotonic() - last.at < VOLUME_STATS_MS) return last.usage;
    this.#reading ??= this.#refresh();
    return last?.usage ?? (await this.#reading);
  }

  async #refresh(): Promise<UsageByPod> {
    try {
      const usage = await this.#read().catch(() => new Map());
      this.#last = { at: this.#clock.monotonic(), usage };
      return usage;
    } finally {
      this.#reading = undefined;
    }
  }
}
