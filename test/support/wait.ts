import { eventually } from '@holdfast/platform/contract';

/** `eventually` for tests of whole processes, which begin with what they wait for. */
export const waitFor = <T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 60_000,
): Promise<T> => eventually(probe, what, { deadlineMs, pollMs: 50 });
