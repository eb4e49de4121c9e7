import type { ApiHandler, ApiResponse } from '@holdfast/client';
import type { Asked } from '../asked.ts';
import { HeldView } from '../held-view.ts';
import type { Lensing, LensingDeps, LensKind } from '../kind.ts';
import { freshnessOf, readFromView } from '../view-reads.ts';
import { watchThroughView } from '../view-watch.ts';

export interface TimeTravelSettings {
  readonly revision?: number;
  /** In place of `revision`: so many revisions before the present of `on`; default 1. */
  readonly back?: number;
  /** The view catches up after this time of the cluster; default: when the lens is turned off. */
  readonly forMs?: number;
}

export const TIME_TRAVEL: LensKind<TimeTravelSettings> = {
  summary:
    'Lists and watches that begin from now on begin at an earlier revision, as after a restart at a slow API server',
  isView: true,
  verbs: ['list', 'watch', 'get'],
  settings: {
    revision: { type: 'integer', minimum: 1, description: 'Where they begin.' },
    back: { type: 'integer', minimum: 1, description: 'In place of revision: so many revisions before the present.' },
    forMs: { type: 'integer', minimum: 0, description: 'The view catches up after this time of the cluster.' },
  },
  open: (settings, deps) => new TimeTravel(settings, deps),
};

class TimeTravel implements Lensing {
  readonly #settings: TimeTravelSettings;
  readonly #deps: LensingDeps;
  /** Watches that began before are not in it. */
  #view: HeldView | undefined;

  constructor(settings: TimeTravelSettings, deps: LensingDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  async on(): Promise<void> {
    const { back = 1, forMs } = this.#settings;
    const revision = this.#settings.revision ?? Math.max(1, (await this.#deps.revision()) - back);
    this.#view = new HeldView(this.#deps.clock);
    this.#view.hold(revision, forMs);
  }

  off(): void {
    this.#view?.release();
    this.#view = undefined;
  }

  applies(asked: Asked): boolean {
    const { kind } = freshnessOf(asked);
    return asked.info.verb === 'watch' || kind === 'any' || kind === 'not older';
  }

  handle(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    const view = this.#view;
    if (view === undefined) return next(asked.request);
    return asked.info.verb === 'watch' ? watchThroughView(asked, next, view) : readFromView(asked, next, view);
  }
}
