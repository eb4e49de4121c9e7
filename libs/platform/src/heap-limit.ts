import { getHeapStatistics } from 'node:v8';

/** What V8 takes before it ends the process: what `--max-old-space-size` says, or the memory of the machine. */
export const heapLimitBytes = (): number => getHeapStatistics().heap_size_limit;
