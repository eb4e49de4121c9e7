import { StatusError } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import { PARALLEL_WRITES, SLOW_START_FIRST_BATCH } from '../limits.ts';
import { noteRefusal } from './refusals.ts';

export const isNotFound = (error: unknown): boolean => error instanceof StatusError && error.code === 404;

/** The name is taken. */
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof StatusError && error.reason === 'AlreadyExists';

/** The object is not what was expected (its resourceVersion or uid differs): read again. */
export const isConflict = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Conflict';

/** Nothing can be created there any more. The namespace controller removes the rest. */
export { isNamespaceTerminating } from '@holdfast/machinery';

/** True for a response that proves that the write did not happen. Without a response the outcome is unknown. */
export const isRefusal = (error: unknown): boolean => error instanceof StatusError && error.code < 500;

/**
 * Runs the write; `undefined` when the object is gone or another one by now, which ends the matter for this pass. After a
 * conflict the key is looked at again, also without a change (`againAfterRefusal`).
 */
export async function unlessChanged<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await write();
  } catch (error) {
    if (isConflict(error)) noteRefusal();
    else if (!isNotFound(error)) throw error;
    return undefined;
  }
}

/**
 * Runs the writes in batches of 1, 2, 4, ... and stops after the first batch with a failure: a template that the server
 * refuses costs one request, not a thousand. Resolves to the first failure.
 */
export async function slowStart<T>(items: readonly T[], write: (item: T) => Promise<void>): Promise<Error | undefined> {
  let start = 0;
  for (let size = SLOW_START_FIRST_BATCH; start < items.length; size *= 2) {
    const batch = items.slice(start, start + size);
    const failure = await inParallel(batch, write);
    if (failure !== undefined) return failure;
    start += batch.length;
  }
  return undefined;
}

/** Runs all writes with bounded concurrency. Resolves with the first failure in the order of the items. */
export async function inParallel<T>(
  items: readonly T[],
  write: (item: T) => Promise<void>,
): Promise<Error | undefined> {
  const failures: Error[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      const item = items[index];
      if (item !== undefined) await write(item).catch((error: unknown) => void (failures[index] = asError(error)));
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_WRITES, items.length) }, worker));
  return failures.find((failure) => failure !== undefined);
}

export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(describeError(thrown));
