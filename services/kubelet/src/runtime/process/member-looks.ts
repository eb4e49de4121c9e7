import type { Clock } from '@holdfast/platform';
import type { CoveredContainer } from './covered.ts';
import { MEMBER_LOOK_MS, MEMBER_LOOK_SHARE } from './limits.ts';
import type { ProcessWatch } from './process-watch.ts';
import { tellFault } from './tell-fault.ts';

/**
 * Looks at the processes of running containers again and again: one that left the session and dropped its environment
 * is recognized by its parents only, and those may end together with the container.
 */
export function lookAtMembers(
  clock: Clock,
  processes: Pick<ProcessWatch, 'follow'>,
  running: () => readonly CoveredContainer[],
): void {
  const look = async (): Promise<void> => {
    const begin = clock.monotonic();
    try {
      await processes.follow(running());
    } catch (error) {
      tellFault('a look at the processes of containers failed')(error);
    }
    // A machine with many processes must not be kept busy by this.
    const tookMs = clock.monotonic() - begin;
    clock.timer(Math.max(MEMBER_LOOK_MS, tookMs * MEMBER_LOOK_SHARE), () => void look());
  };
  clock.timer(MEMBER_LOOK_MS, () => void look());
}
