import { Effort } from '../../custom/effort.ts';
import { PATTERN_WEIGHT_TOTAL_MAX } from '../../custom/limits.ts';
import { patternSize } from '../../custom/pattern-size.ts';

/** What the validation of one definition may cost, all versions together. */
export class DefinitionBudget {
  /** The work of checking all defaults. */
  readonly effort = new Effort();
  readonly #patterns = new Set<string>();
  #weight = 0;

  /** Counts each pattern once. Returns false when all of them would take too long to compile. */
  hasRoomFor(pattern: string): boolean {
    if (!this.#patterns.has(pattern)) this.#weight += patternSize(pattern).weight;
    this.#patterns.add(pattern);
    return this.#weight <= PATTERN_WEIGHT_TOTAL_MAX;
  }
}
