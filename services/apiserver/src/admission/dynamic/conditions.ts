import type { MatchCondition } from '@holdfast/api';
import type { Environment } from '@holdfast/cel';
import { cel } from '../../expressions/load.ts';
import type { TimeAllowance } from './evaluation-time.ts';
import { type CompiledText, compileText } from './expressions.ts';
import type { RequestValues } from './request-values.ts';

/** Cost of all match conditions of one webhook or policy, as in 1.32. */
const CONDITIONS_BUDGET = 2_500_000;

interface Condition {
  readonly name: string;
  readonly compiled: CompiledText;
}

export type ConditionsResult = 'match' | 'noMatch' | { readonly failed: string };

/** All must hold. One that is false decides, even when another fails. */
export class MatchConditions {
  readonly #conditions: readonly Condition[];

  constructor(conditions: readonly Readonly<MatchCondition>[], environmentOf: () => Environment) {
    if (conditions.length === 0) {
      this.#conditions = [];
      return;
    }
    const environment = environmentOf();
    this.#conditions = conditions.map(({ name, expression }) => ({
      name,
      compiled: compileText(expression, environment, 'bool'),
    }));
  }

  get isEmpty(): boolean {
    return this.#conditions.length === 0;
  }

  evaluate(values: RequestValues): Promise<ConditionsResult> {
    return values.run((time) => this.#evaluate(values, time));
  }

  #evaluate(values: RequestValues, time: TimeAllowance): ConditionsResult {
    const failures: string[] = [];
    let budget = CONDITIONS_BUDGET;
    for (const { name, compiled } of this.#conditions) {
      if (compiled.program === undefined) {
        failures.push(`matchCondition ${name}: ${compiled.problem}`);
        continue;
      }
      const costLimit = Math.min(cel().PER_CALL_LIMIT, budget);
      const outcome = compiled.program.evaluate(values.get, { costLimit, ...time });
      budget -= outcome.cost;
      if (outcome.error !== undefined) failures.push(outcome.error.message);
      else if (outcome.value !== true) return 'noMatch';
    }
    return failures.length === 0 ? 'match' : { failed: failures.join(', ') };
  }
}
