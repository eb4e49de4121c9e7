import type { ApiHandler, ApiResponse } from '@holdfast/client';
import type { Asked } from '../asked.ts';
import { HeldView } from '../held-view.ts';
import type { Lensing, LensingDeps, LensKind } from '../kind.ts';
import { POINT_SETTING, type Point, PointFinder } from '../point.ts';
import { freshnessOf, readFromView } from '../view-reads.ts';
import { watchThroughView } from '../view-watch.ts';

export interface StaleSettings {
  /** Default: the present of `on`. */
  readonly revision?: number;
  /** The view is held right before this event, as soon as it happens. */
  readonly point?: Point;
  /** The view catches up after this time of the cluster; default: when the lens is turned off. */
  readonly forMs?: number;
  /** Also reads that ask for the newest state. No correct server answers them from its cache. */
  readonly newest?: boolean;
}

export const STALE: LensKind<StaleSettings> = {
  summary: 'Lists and watches show an earlier revision; writes are judged by the present',
  isView: true,
  verbs: ['list', 'watch', 'get'],
  settings: {
    revision: { type: 'integer', minimum: 1, description: 'The revision of the view; default: the present one.' },
    point: POINT_SETTING,
    forMs: { type: 'integer', minimum: 0, description: 'The view catches up after this time of the cluster.' },
    newest: { type: 'boolean', description: 'Also reads that ask for the newest state: a fault of the server.' },
  },
  open: (settings, deps) => new Stale(settings, deps),
};

class Stale implements Lensing {
  readonly #settings: StaleSettings;
  readonly #deps: LensingDeps;
  readonly #view: HeldView;
  #finder: PointFinder | undefined;

  constructor(settings: StaleSettings, deps: LensingDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#view = new HeldView(deps.clock);
  }

  async on(): Promise<void> {
    const { point, revision, forMs } = this.#settings;
    if (point === undefined) this.#view.hold(revision ?? (await this.#deps.revision()), forMs);
    else this.#finder = new PointFinder(point);
  }

  off(): void {
    this.#finder = undefined;
    this.#view.release();
  }

  /** A read that the present has to answer is not counted. */
  applies(asked: Asked): boolean {
    const { kind } = freshnessOf(asked);
    return (
      asked.info.verb === 'watch' || (kind !== 'elsewhere' && (kind !== 'newest' || this.#settings.newest === true))
    );
  }

  handle(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    return asked.info.verb === 'watch' ? this.pass(asked, next) : readFromView(asked, next, this.#view);
  }

  pass(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    if (asked.info.verb !== 'watch') return next(asked.request);
    return watchThroughView(asked, next, this.#view, (frame) => {
      const event = frame.value();
      const finder = this.#finder;
      if (finder === undefined || !finder.find(asked, event) || finder.revision === undefined) return;
      this.#finder = undefined;
      this.#view.hold(finder.revision - 1, this.#settings.forMs);
      void this.#deps.onHit(asked);
    });
  }
}
