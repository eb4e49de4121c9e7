import type { ApiHandler, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { frameOf, watchAnswer } from '../answers.ts';
import type { Asked } from '../asked.ts';
import type { Lensing, LensingDeps, LensKind } from '../kind.ts';
import { Watches } from '../watches.ts';

export const EXPIRED: LensKind<object> = {
  summary: 'The history is compacted: open watches end, and older revisions are answered with 410',
  isView: true,
  verbs: ['list', 'watch'],
  settings: {},
  open: (_settings, deps) => new Expired(deps),
};

class Expired implements Lensing {
  readonly #deps: LensingDeps;
  readonly #watches = new Watches();
  /** What is older is gone. */
  #oldest = 0;

  constructor(deps: LensingDeps) {
    this.#deps = deps;
  }

  async on(): Promise<void> {
    this.#oldest = await this.#deps.revision();
    this.#watches.end();
  }

  applies({ request: { query }, info }: Asked): boolean {
    const revision = Number(query.get('resourceVersion') ?? 0);
    if (revision < 1 || revision >= this.#oldest) return false;
    return info.verb === 'watch' || query.get('resourceVersionMatch') === 'Exact';
  }

  pass(asked: Asked, next: ApiHandler): Promise<ApiResponse> {
    return asked.info.verb === 'watch' ? this.#watches.open(asked, next) : next(asked.request);
  }

  async handle(asked: Asked): Promise<ApiResponse> {
    await this.#deps.onHit(asked);
    const revision = asked.request.query.get('resourceVersion') ?? '';
    const error = new StatusError({
      code: 410,
      reason: 'Expired',
      message: `too old resource version: ${revision} (${this.#oldest})`,
    });
    if (asked.info.verb !== 'watch') throw error;
    return watchAnswer(one({ type: 'ERROR', object: error.body }));
  }
}

async function* one(event: Parameters<typeof frameOf>[0]) {
  yield frameOf(event);
}
