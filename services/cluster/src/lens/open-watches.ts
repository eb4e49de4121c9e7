import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { type Asked, readAsked } from './asked.ts';
import { WatchTap } from './watch-tap.ts';

export interface OpenWatch {
  readonly asked: Asked;
  readonly tap: WatchTap;
}

/** The open watches of all clients, so that a lens that comes later finds those of its own. */
export class OpenWatches {
  readonly #open = new Set<OpenWatch>();

  /** Returns the answer through which the client reads from now on. */
  add(request: ApiRequest, answer: ApiResponse): ApiResponse {
    const asked = answer.body.kind === 'watch' ? readAsked(request) : undefined;
    if (asked === undefined || answer.body.kind !== 'watch') return answer;
    const forget = (): void => void this.#open.delete(watch);
    const watch: OpenWatch = { asked: afterItsBegin(asked), tap: new WatchTap(answer.body.frames, forget) };
    this.#open.add(watch);
    request.signal?.addEventListener('abort', forget, { once: true });
    return { ...answer, body: { kind: 'watch', frames: watch.tap } };
  }

  all(): readonly OpenWatch[] {
    return [...this.#open];
  }
}

/** The initial events, if it asked for some, were before. */
function afterItsBegin(asked: Asked): Asked {
  const query = new URLSearchParams(asked.request.query);
  query.delete('sendInitialEvents');
  return { ...asked, request: { ...asked.request, query } };
}
