import type { User } from '../authentication/identity.ts';
import type { Turns } from './turns.ts';

/** Maps items one by one and lets others work in between, when it takes long. */
export async function mapInTurns<T, R>(
  { turns, user }: { readonly turns: Turns; readonly user: User },
  items: Iterable<T>,
  map: (item: T) => R,
): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) {
    results.push(map(item));
    const turn = turns.goOn(user);
    if (turn !== undefined) await turn;
  }
  return results;
}
