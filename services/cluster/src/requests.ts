import type { ApiHandler, ApiRequest, ApiResponse, WatchFrame } from '@holdfast/client';

/**
 * Handles a request of one client, or passes it on to `next`. The place for everything that only one client shall see.
 */
export type RequestFilter = (request: ApiRequest, next: ApiHandler) => Promise<ApiResponse>;

/** The requests of a cluster, counted, so that virtual time can wait until none is under way. */
export class Requests {
  /** Requests, answers and watch events of clients outside of the cluster. */
  outside = 0;
  /** Requests that have begun, of everybody. */
  begun = 0;
  readonly #underWay = new Set<object>();
  /** They wait for time to pass, so time does not wait for them. */
  readonly #patient = new WeakSet<object>();

  get underWay(): number {
    let count = 0;
    for (const each of this.#underWay) if (!this.#patient.has(each)) count += 1;
    return count;
  }

  /** The requests under way did not end although nothing else happened. */
  giveUpWaiting(): void {
    for (const each of this.#underWay) this.#patient.add(each);
  }

  /** Around the request pipeline, for components and users alike. */
  readonly around =
    (handle: ApiHandler): ApiHandler =>
    async (request) => {
      this.begun += 1;
      const mark = {};
      this.#underWay.add(mark);
      try {
        return await handle(request);
      } finally {
        this.#underWay.delete(mark);
      }
    };

  /** Around what clients outside of the cluster call. */
  readonly fromOutside =
    (handle: ApiHandler): ApiHandler =>
    async (request) => {
      this.outside += 1;
      const response = await handle(request);
      this.outside += 1;
      if (response.body.kind !== 'watch') return response;
      return { ...response, body: { kind: 'watch', frames: this.#counted(response.body.frames) } };
    };

  async *#counted(frames: AsyncIterable<WatchFrame>): AsyncGenerator<WatchFrame> {
    for await (const frame of frames) {
      this.outside += 1;
      yield frame;
    }
  }
}

/** Each filter sees the request before the next one. */
export const filtered = (filters: readonly RequestFilter[], handle: ApiHandler): ApiHandler =>
  filters.reduceRight<ApiHandler>((next, filter) => (request) => filter(request, next), handle);
