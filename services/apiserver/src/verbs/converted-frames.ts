import type { ResourceDefinition } from '@holdfast/api';
import type { WatchFrame } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { plainFrame, type WatchType } from '../cache/cache-event.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import type { RenderFrame } from '../cache/watcher.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { convertAhead } from '../kinds/conversion.ts';
import type { Rendering } from './watch-frames.ts';

/** A change whose object a webhook has yet to convert. */
class WaitingFrame implements WatchFrame {
  readonly type: WatchType;
  readonly object: CachedObject;

  constructor(type: WatchType, object: CachedObject) {
    this.type = type;
    this.object = object;
  }

  bytes(): Uint8Array {
    return new Uint8Array();
  }

  value(): never {
    throw new Error('a frame is shown after its object is converted');
  }
}

export const waitingFrame: RenderFrame = (type, object) => new WaitingFrame(type, object);

interface Converted {
  readonly definition: ResourceDefinition;
  readonly watcher: AsyncIterable<WatchFrame>;
  readonly rendering: Rendering;
}

/** In order, one after the other. What cannot be converted ends the watch: its client looks again. */
export async function* convertedFrames(
  core: Core,
  _context: ResourceContext,
  { definition, watcher, rendering }: Converted,
): AsyncIterable<WatchFrame> {
  for await (const frame of watcher) {
    if (!(frame instanceof WaitingFrame)) {
      yield frame;
      continue;
    }
    try {
      await convertAhead(core, definition, [frame.object]);
      yield rendering.change(frame.type, frame.object, undefined);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      yield plainFrame({ type: 'ERROR', object: error.body });
      return;
    }
  }
}
