import type { ResourceDefinition } from '@holdfast/api';
import type { WatchFrame } from '@holdfast/client';
import { RecentMap } from '@holdfast/platform';
import type { CacheEvent } from '../cache/cache-event.ts';
import { SHARED_FRAMES_MAX } from '../limits.ts';

export interface SharedView {
  readonly event: CacheEvent;
  readonly definition: ResourceDefinition;
  /** Everything else that makes a difference. */
  readonly form: string;
}

interface Shared extends Omit<SharedView, 'form'> {
  readonly frame: WatchFrame;
}

/**
 * What was composed of a change for one watcher, for all others that want the same: they are told in one turn, and each
 * would make its own copy. Only the newest are kept, as they are as large as their objects.
 */
export class SharedFrames {
  readonly #frames = new RecentMap<string, Shared>(SHARED_FRAMES_MAX);

  frame({ event, definition, form }: SharedView, make: () => WatchFrame): WatchFrame {
    const key = `${event.revision} ${definition.group}/${definition.version} ${form}`;
    const known = this.#frames.get(key);
    // A cache that is loaded again, or a definition that is changed, makes others of the same name.
    if (known?.event === event && known.definition === definition) return known.frame;
    const frame = make();
    this.#frames.set(key, { event, definition, frame });
    return frame;
  }
}
