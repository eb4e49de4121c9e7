import type { ApiHandler, ApiResponse } from '@holdfast/client';
import { watchAnswer } from './answers.ts';
import type { Asked } from './asked.ts';
import { type Outlet, through } from './outlet.ts';

/** The open watches that a lens can end. */
export class Watches {
  readonly #open = new Set<Outlet>();

  async open(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    const answer = await next(asked.request);
    if (answer.body.kind !== 'watch') return answer;
    const outlet = through(answer.body.frames, {
      frame: (frame, to) => to.push(frame),
      ended: () => this.#open.delete(outlet),
    });
    this.#open.add(outlet);
    asked.request.signal?.addEventListener('abort', () => this.#open.delete(outlet), { once: true });
    return watchAnswer(outlet);
  }

  /** With an error the connections are cut; without one the watches end in order. */
  end(error?: Error): void {
    for (const each of this.#open) {
      each.end(error);
      each.leave();
    }
    this.#open.clear();
  }
}
