import { createRequire } from 'node:module';
import { hasRules, type RuleEngine } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import { RULES_DEADLINE_MS } from '../limits.ts';

type Cel = typeof import('@holdfast/cel');

let loaded: Cel | undefined;

/** Loaded for the first expression: most clusters start without one, and it costs 5 MB and some 20 ms. */
export const cel = (): Cel => (loaded ??= createRequire(import.meta.url)('@holdfast/cel') as Cel);

/** The rules of custom resources, evaluated by an engine that is loaded when the first schema has some. */
export function createLazyRuleEngine(clock: Clock): RuleEngine {
  let engine: RuleEngine | undefined;
  const ready = (): RuleEngine =>
    (engine ??= cel().createRuleEngine({ now: () => clock.monotonic(), maxMilliseconds: RULES_DEADLINE_MS }));
  return {
    check: (schema, path, scope) => (hasRules(schema) ? ready().check(schema, path, scope) : []),
    compile: (schema) => (hasRules(schema) ? ready().compile(schema) : undefined),
  };
}
