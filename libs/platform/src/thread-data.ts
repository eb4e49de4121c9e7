import { workerData } from 'node:worker_threads';

/** What `startThread` was given for the thread that asks. */
export function threadData(): unknown {
  const given: unknown = workerData;
  return typeof given === 'object' && given !== null && 'data' in given ? given.data : undefined;
}
