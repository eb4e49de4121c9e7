import { describeError } from '@holdfast/platform';
import type { Check } from '../check.ts';
import { type Judgement, ok, problem, warning } from '../finding.ts';
import { existing, syncTimes } from '../probes.ts';

export const SYNC: Check = {
  name: 'fsync',
  look: ({ dataDir, terminal }) => {
    const directory = existing(dataDir);
    try {
      return Promise.resolve(judgeSync(syncTimes(directory, terminal.clock, WRITES)));
    } catch (error) {
      return Promise.resolve(
        problem(
          `${directory} cannot be written: ${describeError(error)}`,
          'Choose another directory with --data-dir, or correct its permissions.',
        ),
      );
    }
  },
};

const WRITES = 40;
const SLOW_MS = 20;
/** No device syncs in this time: something keeps the data in memory. */
const IMPOSSIBLE_MS = 0.005;

export function judgeSync(times: readonly number[]): Judgement {
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const slowest = sorted.at(-1) ?? 0;
  const measured = `a synced write takes ${median.toFixed(2)} ms (slowest ${slowest.toFixed(1)} ms)`;
  if (median > SLOW_MS)
    return warning(measured, 'Every write of the API waits for it: use a faster disk for --data-dir, or --memory.');
  if (median < IMPOSSIBLE_MS)
    return warning(
      `${measured}: the file system does not sync`,
      'After a power loss acknowledged writes may be missing: choose a directory on a disk with --data-dir.',
    );
  return ok(measured);
}
