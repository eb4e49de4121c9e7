import { getHeapStatistics } from 'node:v8';

/** The heap size at which V8 ends the process: `--max-old-space-size`, or a value that follows the machine's memory. */
export const heapLimitBytes = (): number => getHeapStatistics().heap_size_limit;
