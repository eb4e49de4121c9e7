import { workerData } from 'node:worker_threads';

/** Returns the data that `startThread` passed to the current thread. */
export function threadData(): unknown {
  const given: unknown = workerData;
  return typeof given === 'object' && given !== null && 'data' in given ? given.data : undefined;
}
