import { createRequire } from 'node:module';
import { RecentMap } from '@holdfast/platform';
import {
  PATTERN_INSTRUCTIONS_MAX,
  PATTERN_WEIGHT_KEPT_MAX,
  PATTERN_WEIGHT_MAX,
  PATTERNS_KEPT_MAX,
  TABLE_BYTES_MIN,
  TABLE_BYTES_PER_INSTRUCTION,
} from './limits.ts';
import { type PatternSize, patternSize } from './pattern-size.ts';

type Engine = typeof import('re2js');
type Expression = ReturnType<Engine['RE2JS']['compile']>;

let loaded: Engine | undefined;

/** Loads the engine for the first pattern: every service loads the kinds, but few ever see a definition. */
const engine = (): Engine => (loaded ??= createRequire(import.meta.url)('re2js') as Engine);

/**
 * Counts steps of matching. A step is one instruction for one character: about 15 ns. It may throw, also in the middle of
 * a match.
 */
export type SpendSteps = (steps: number) => void;

export interface FindLimits {
  readonly spend: SpendSteps;
  /** Throws when so many steps could not be spent. */
  readonly ensure: SpendSteps;
  /** Called after each match. */
  readonly look: () => void;
}

/** A compiled pattern in RE2 syntax. Matching takes linear time in the text for every pattern. */
export class Automaton {
  readonly instructions: number;
  readonly #expression: Expression;
  readonly #isOnePass: boolean;
  /** The tables that the engine builds while it matches are still of use. */
  #hasTables: boolean;

  constructor(expression: Expression, { hasWideClasses }: PatternSize) {
    this.#expression = expression;
    this.instructions = expression.programSize();
    this.#isOnePass = expression.re2().onepass !== null;
    this.#hasTables = !this.#isOnePass && !hasWideClasses;
    if (this.#hasTables) boundTables(expression, this.instructions);
  }

  /** True when a part of the text matches. */
  test(text: string, spend: SpendSteps): boolean {
    if (this.#isOnePass) {
      spend(text.length + 1);
      return this.#expression.test(text);
    }
    if (this.#hasTables) return this.#testByTables(text, spend);
    spend(this.#stepsFor(text.length));
    // Unlike `test`, `find` never uses tables.
    return this.#expression.matcher(text).find();
  }

  /**
   * Returns the matches, up to `limit` when it is not negative. What a match reads beyond its end is not counted: only
   * `look` can bound how often the rest of a text is read.
   */
  find(text: string, limit: number, { spend, ensure, look }: FindLimits): readonly string[] {
    const found: string[] = [];
    const matcher = this.#expression.matcher(text);
    ensure(this.#stepsFor(text.length));
    let from = 0;
    while (found.length !== limit && matcher.find()) {
      found.push(matcher.group() ?? '');
      spend(this.#stepsFor(matcher.end() - from));
      from = matcher.end();
      look();
    }
    if (found.length !== limit) spend(this.#stepsFor(text.length - from));
    return found;
  }

  /** Each step through the tables takes the time of one instruction; what they grow by was computed first. */
  #testByTables(text: string, spend: SpendSteps): boolean {
    const { dfa } = this.#expression.re2();
    const bytesLeft = dfa.memBudget;
    const stop = this.#chargeSimulations(spend);
    try {
      return this.#expression.test(text);
    } finally {
      stop();
      this.#hasTables = dfa.memBudget > 0;
      spend(text.length + 1 + bytesLeft - dfa.memBudget);
    }
  }

  #stepsFor(chars: number): number {
    return this.instructions * (chars + 1);
  }

  /** Without tables, the engine simulates all instructions at each character of a long text. */
  #chargeSimulations(spend: SpendSteps): () => void {
    const re2 = this.#expression.re2();
    // oxlint-disable-next-line typescript/unbound-method -- it is called with its object
    const simulate = re2.doExecuteNFA;
    re2.doExecuteNFA = (input, pos, ...rest) => {
      spend(this.#stepsFor(input.endPos() - pos));
      return simulate.call(re2, input, pos, ...rest);
    };
    return () => {
      re2.doExecuteNFA = simulate;
    };
  }
}

/** Tables that outgrow their room are dropped and not begun again: they would be built for each text. */
function boundTables(expression: Expression, instructions: number): void {
  const { dfa } = expression.re2();
  dfa.stateBudget = 0;
  dfa.memBudget = TABLE_BYTES_MIN + instructions * TABLE_BYTES_PER_INSTRUCTION;
}

export type CompiledAutomaton =
  | { readonly automaton: Automaton; readonly problem?: undefined }
  | { readonly automaton?: undefined; readonly problem: string };

let kept = new RecentMap<string, CompiledAutomaton>(PATTERNS_KEPT_MAX);
let keptWeight = 0;

/**
 * Compiles a pattern, or explains why it is refused. Keeps patterns, because many schemas and expressions share them. Calls
 * `spend` with the weight of one that is not kept, before it is compiled.
 */
export function automatonOf(source: string, spend: (weight: number) => void = () => {}): CompiledAutomaton {
  const known = kept.get(source);
  if (known !== undefined) return known;
  const size = patternSize(source);
  if (size.instructions > PATTERN_INSTRUCTIONS_MAX || size.weight > PATTERN_WEIGHT_MAX) return TOO_LARGE;
  spend(size.weight);
  const made = compile(source, size);
  keptWeight += size.weight;
  if (keptWeight > PATTERN_WEIGHT_KEPT_MAX) {
    kept = new RecentMap(PATTERNS_KEPT_MAX);
    keptWeight = size.weight;
  }
  kept.set(source, made);
  return made;
}

const TOO_LARGE = { problem: 'error parsing regexp: expression too large' };

function compile(source: string, size: PatternSize): CompiledAutomaton {
  const { RE2JS, RE2JSException } = engine();
  try {
    const expression = RE2JS.compile(source);
    return expression.programSize() > PATTERN_INSTRUCTIONS_MAX
      ? TOO_LARGE
      : { automaton: new Automaton(expression, size) };
  } catch (error) {
    if (error instanceof RE2JSException) return { problem: error.message };
    throw error;
  }
}
