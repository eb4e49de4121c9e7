import { StatusError } from '@holdfast/machinery';
import type { LensKind } from '../kind.ts';

export interface ThrottledSettings {
  /** Default 1. */
  readonly retryAfterSeconds?: number;
}

export const THROTTLED: LensKind<ThrottledSettings> = {
  summary: 'Requests are refused with 429 and Retry-After',
  isView: false,
  settings: { retryAfterSeconds: { type: 'integer', minimum: 0, maximum: 3_600, description: 'Default 1.' } },
  open: ({ retryAfterSeconds = 1 }, { onHit }) => ({
    handle: async (asked) => {
      await onHit(asked);
      throw new StatusError({
        code: 429,
        reason: 'TooManyRequests',
        message: 'too many requests, please try again later',
        details: { retryAfterSeconds },
      });
    },
  }),
};
