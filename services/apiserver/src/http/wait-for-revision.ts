import { StatusError } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import { CONSISTENT_READ_TIMEOUT_MS } from '../limits.ts';

/** Waits until the cache is not older than a revision that the client has seen somewhere. */
export async function waitForRevision(core: Core, revision: number): Promise<void> {
  if (await core.cache.waitFor(revision, CONSISTENT_READ_TIMEOUT_MS)) return;
  throw tooLarge(revision, core.cache.revision);
}

function tooLarge(wanted: number, current: number): StatusError {
  return new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}
