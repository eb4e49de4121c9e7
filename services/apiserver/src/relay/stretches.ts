import type { Change } from '@holdfast/store';
import { MAX_CHARACTERS_AHEAD } from './limits.ts';

/** Splits changes into batches for the bus: at most `count`, with limited text, but at least one. */
export function* stretchesOf(changes: readonly Change[], count: number): Generator<readonly Change[]> {
  let stretch: Change[] = [];
  let characters = 0;
  for (const change of changes) {
    characters += change.value.length;
    if (stretch.length > 0 && (stretch.length >= count || characters > MAX_CHARACTERS_AHEAD)) {
      yield stretch;
      stretch = [];
      characters = change.value.length;
    }
    stretch.push(change);
  }
  if (stretch.length > 0) yield stretch;
}
