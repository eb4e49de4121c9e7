import type { ResourceDefinition } from '@holdfast/api';
import type { WatchFrame } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type CacheEvent, plainFrame, type WatchType } from '../cache/cache-event.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { type Selection, selects } from '../cache/selection.ts';
import type { RenderFrame, Watcher } from '../cache/watcher.ts';
import type { Core } from '../core.ts';
import { convertAhead } from '../kinds/conversion.ts';
import type { Rendering } from './watch-frames.ts';

/** A change whose object a webhook has yet to convert. */
class WaitingFrame implements WatchFrame {
  readonly type: WatchType;
  readonly object: CachedObject;
  readonly event: CacheEvent | undefined;

  constructor(type: WatchType, object: CachedObject, event: CacheEvent | undefined) {
    this.type = type;
    this.object = object;
    this.event = event;
  }

  bytes(): Uint8Array {
    return new Uint8Array();
  }

  value(): never {
    throw new Error('a frame is shown after its object is converted');
  }
}

export const waitingFrame: RenderFrame = (type, object, event) => new WaitingFrame(type, object, event);

interface Converted {
  readonly definition: ResourceDefinition;
  readonly watcher: Watcher;
  readonly rendering: Rendering;
  readonly selection: Selection;
}

interface View {
  readonly type: WatchType;
  readonly object: CachedObject;
}

/** Its client may leave before the first frame, or while it waits for one: a generator would notice neither. */
export const convertedFrames = (core: Core, converted: Converted): AsyncIterable<WatchFrame> => ({
  [Symbol.asyncIterator]: () => {
    const frames = framesInOrder(core, converted);
    return {
      next: () => frames.next(),
      return: async () => {
        converted.watcher.cut();
        return frames.return(undefined);
      },
    };
  },
});

/** A failed conversion ends the watch: its client watches again. */
async function* framesInOrder(
  core: Core,
  { definition, watcher, rendering, selection }: Converted,
): AsyncGenerator<WatchFrame, void> {
  const convert = async (...states: readonly CachedObject[]): Promise<void> => convertAhead(core, definition, states);
  for await (const frame of watcher) {
    if (!(frame instanceof WaitingFrame)) {
      yield frame;
      continue;
    }
    try {
      const view = selection.beforeConversion === undefined ? frame : await viewOf(frame, selection, convert);
      if (view === undefined) continue;
      await convert(view.object);
      yield rendering.change(view.type, view.object, undefined);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      yield plainFrame({ type: 'ERROR', object: error.body });
      return;
    }
  }
}

/** The change as seen by a selection on converted fields; `undefined` when it is not selected. */
async function viewOf(
  { type, object, event }: WaitingFrame,
  selection: Selection,
  convert: (...states: readonly CachedObject[]) => Promise<void>,
): Promise<View | undefined> {
  const previous = type === 'ADDED' ? undefined : event?.previous;
  await convert(object, ...(previous === undefined ? [] : [previous]));
  const before = previous !== undefined && selects(selection, previous);
  if (type === 'DELETED') {
    const wasSeen = previous === undefined ? selects(selection, object) : before;
    return wasSeen ? { type, object } : undefined;
  }
  if (selects(selection, object)) return { type: before ? 'MODIFIED' : 'ADDED', object };
  return before ? { type: 'DELETED', object: previous.atRevision(object.revision) } : undefined;
}
