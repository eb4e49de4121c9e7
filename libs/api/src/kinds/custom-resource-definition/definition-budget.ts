import { Effort } from '../../custom/effort.ts';
import { PATTERN_WEIGHT_TOTAL_MAX } from '../../custom/limits.ts';
import { PatternRoom } from '../../custom/pattern-room.ts';

/** What the validation of one definition may cost, all versions together. */
export class DefinitionBudget {
  /** The work of checking all defaults. */
  readonly effort = new Effort();
  /** Shared by the patterns of schemas and of rules. */
  readonly patterns = new PatternRoom(PATTERN_WEIGHT_TOTAL_MAX);
}
