import type { LensKind } from '../kind.ts';

export interface LatencySettings {
  /** Before each request, in the time of the cluster; default 100. */
  readonly ms?: number;
  /** Up to so much more, drawn from the seed. */
  readonly jitterMs?: number;
}

const MINUTE_MS = 60_000;

export const LATENCY: LensKind<LatencySettings> = {
  summary: 'Requests wait before they are handled',
  isView: true,
  settings: {
    ms: { type: 'integer', minimum: 0, maximum: MINUTE_MS, description: 'In the time of the cluster; default 100.' },
    jitterMs: { type: 'integer', minimum: 0, maximum: MINUTE_MS, description: 'Up to so much more, from the seed.' },
  },
  open: ({ ms = 100, jitterMs = 0 }, { clock, random, onHit }) => ({
    handle: async (asked, next) => {
      await onHit(asked);
      await clock.sleep(ms + (jitterMs === 0 ? 0 : random.int(jitterMs + 1)), asked.request.signal);
      return next(asked.request);
    },
  }),
};
