import type { Steps } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import type { Turns } from './turns.ts';

/** Runs long work and lets others work between its steps. */
export function stepsInTurns<T>(turns: Turns, user: User, steps: Steps<T>): T | Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turns.isOver(user)) return afterPause(turns, user, steps);
  }
}

async function afterPause<T>(turns: Turns, user: User, steps: Steps<T>): Promise<T> {
  await turns.goOn(user);
  return stepsInTurns(turns, user, steps);
}
