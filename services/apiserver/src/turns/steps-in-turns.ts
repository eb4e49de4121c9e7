import type { Steps } from '@holdfast/machinery';
import type { User } from '../identity.ts';
import type { Turns } from './turns.ts';

/** Runs long work and lets others work between its steps. */
export async function stepsInTurns<T>(turns: Turns, user: User, steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const turn = turns.goOn(user);
    if (turn !== undefined) await turn;
  }
}
