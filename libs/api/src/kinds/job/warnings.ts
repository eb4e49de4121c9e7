import type { JobSpec } from '../../generated/types.ts';

const COMPLETIONS_SAFE = 100_000;
const PARALLELISM_SAFE = 10_000;

/** So many indexes may fail that the status cannot list them. */
export function completionWarnings(spec: Readonly<JobSpec>, path: string): readonly string[] {
  const { completionMode, completions = 0, parallelism = 0 } = spec;
  if (completionMode !== 'Indexed' || completions <= COMPLETIONS_SAFE || parallelism <= PARALLELISM_SAFE) return [];
  return [
    `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
  ];
}
