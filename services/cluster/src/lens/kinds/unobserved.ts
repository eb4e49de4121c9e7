import type { ApiHandler, ApiResponse, WatchEvent, WatchFrame } from '@holdfast/client';
import type { Timer } from '@holdfast/platform';
import { frameOf, watchAnswer } from '../answers.ts';
import type { Asked } from '../asked.ts';
import type { Lensing, LensingDeps, LensKind } from '../kind.ts';
import { type FrameUse, type Outlet, through } from '../outlet.ts';
import { keyOf, POINT_SETTING, type Point, PointFinder } from '../point.ts';
import { asJson } from '../view-reads.ts';

export interface UnobservedSettings {
  /** A watch shows every n-th state of an object; default 2. */
  readonly every?: number;
  /** Only once: from the state of this point to the state `every - 1` events later. */
  readonly point?: Point;
  /** The newest state is shown after this time at the latest; default 1000. */
  readonly flushMs?: number;
}

export const UNOBSERVED: LensKind<UnobservedSettings> = {
  summary: 'Watches show every n-th state of an object, as a client sees it that was away and lists again',
  isView: true,
  verbs: ['watch'],
  settings: {
    every: { type: 'integer', minimum: 1, description: 'n; default 2.' },
    point: POINT_SETTING,
    flushMs: {
      type: 'integer',
      minimum: 1,
      description: 'The newest state is shown after this time of the cluster; default 1000.',
    },
  },
  open: (settings, deps) => new Unobserved(settings, deps),
};

const FLUSH_MS = 1_000;

class Unobserved implements Lensing {
  readonly #settings: UnobservedSettings;
  readonly #deps: LensingDeps;
  readonly #windows = new Set<StateWindow>();
  #isOn = false;
  #finder: PointFinder | undefined;

  constructor(settings: UnobservedSettings, deps: LensingDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  on(): void {
    this.#isOn = true;
    const { point } = this.#settings;
    this.#finder = point === undefined ? undefined : new PointFinder(point);
  }

  off(): void {
    this.#isOn = false;
    for (const each of this.#windows) each.flush();
  }

  handle(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    return this.pass(asked, next);
  }

  async pass(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    const answer = await next({ ...asked.request, headers: asJson(asked.request) });
    if (answer.body.kind !== 'watch') return answer;
    return watchAnswer(through(answer.body.frames, this.#use(asked)));
  }

  #use(asked: Asked): FrameUse {
    const { every = 2, flushMs = FLUSH_MS } = this.#settings;
    let states: StateWindow | undefined;
    const windowOf = (outlet: Outlet): StateWindow => {
      states ??= new StateWindow({ every, outlet, startTimer: (flush) => this.#deps.clock.timer(flushMs, flush) });
      this.#windows.add(states);
      return states;
    };
    return {
      frame: (frame, outlet) => {
        const event = frame.value();
        const isState = event.type !== 'BOOKMARK' && event.type !== 'ERROR';
        const collects = this.#isOn && isState && (states?.isOpen === true || this.#opens(asked, event));
        if (collects) return windowOf(outlet).add(event);
        // A bookmark tells that everything before it was shown.
        if (states?.isOpen === true && !isState) states.flush();
        outlet.push(frame);
      },
      ended: () => {
        states?.flush();
        if (states !== undefined) this.#windows.delete(states);
      },
    };
  }

  #opens(asked: Asked, event: WatchEvent): boolean {
    if (this.#settings.point === undefined) return true;
    const isFound = this.#finder?.find(asked, event) ?? false;
    if (isFound) void this.#deps.onHit(asked);
    return isFound;
  }
}

interface WindowOptions {
  readonly every: number;
  readonly outlet: Outlet;
  readonly startTimer: (flush: () => void) => Timer;
}

interface States {
  readonly first: WatchEvent;
  readonly last: WatchEvent;
  readonly count: number;
}

/** The states of a stretch of a watch, of which the client sees only the last of each object. */
class StateWindow {
  readonly #options: WindowOptions;
  readonly #states = new Map<string, States>();
  #timer: Timer | undefined;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#states.size > 0;
  }

  add(event: WatchEvent): void {
    const key = keyOf(event);
    const known = this.#states.get(key);
    const count = (known?.count ?? 0) + 1;
    // The last one stands behind all others, which are older.
    this.#states.delete(key);
    this.#states.set(key, { first: known?.first ?? event, last: event, count });
    if (count >= this.#options.every) this.flush();
    else this.#timer ??= this.#options.startTimer(() => this.flush());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const all = [...this.#states.values()];
    this.#states.clear();
    for (const each of all) {
      const frame = coalesced(each);
      if (frame !== undefined) this.#options.outlet.push(frame);
    }
  }
}

/** What a client notices that compares the state before with the state after: nothing of an object that came and went. */
function coalesced({ first, last }: States): WatchFrame | undefined {
  const wasThere = first.type !== 'ADDED';
  if (last.type === 'DELETED') return wasThere ? frameOf(last) : undefined;
  return frameOf({ type: wasThere ? 'MODIFIED' : 'ADDED', object: last.object });
}
