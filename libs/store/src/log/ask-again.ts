import type { Clock } from '@holdfast/platform';
import { LOG_ASK_AGAIN_MS } from '../limits.ts';

interface Question<T> {
  readonly clock: Clock;
  readonly ask: () => Promise<T>;
  /** No more than this is asked once it is false. */
  readonly isWanted: () => boolean;
}

/**
 * Asks again from time to time, and still takes the answer to an earlier question. Servers never answer what was asked
 * while they had no leader: who waits for that answer loses its whole time-out. The first answer counts, also a refusal;
 * the time-out of the first question ends them all.
 */
export function askAgain<T>({ clock, ask, isWanted }: Question<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const askOnce = (): void => {
      if (isSettled || !isWanted()) return;
      const timer = clock.timer(LOG_ASK_AGAIN_MS, askOnce);
      const settle = (outcome: () => void): void => {
        isSettled = true;
        timer.cancel();
        outcome();
      };
      ask().then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => settle(() => reject(error)),
      );
    };
    askOnce();
  });
}
