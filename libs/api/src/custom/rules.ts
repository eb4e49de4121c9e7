import type { FieldError, JsonObject } from '@holdfast/machinery';

/**
 * The rules of a schema (`x-kubernetes-validations`). An engine compiles them once for each version of a definition and
 * evaluates them for every write. The pipeline asks only this interface, so the engine can be any.
 */
export interface RuleEngine {
  /**
   * What is wrong with the rules of one schema: syntax, types, estimated cost. Asked when a definition is created or
   * changed. `path` is where the schema stands: `spec.validation.openAPIV3Schema`. `old` is the schema before an update:
   * a rule that has not changed is not refused.
   */
  readonly check: (schema: JsonObject, path: string, old: JsonObject | undefined) => readonly FieldError[];
  /** `undefined` for a schema without rules. Never throws: a rule that does not compile fails when it is evaluated. */
  readonly compile: (schema: JsonObject) => RuleSet | undefined;
}

export interface RuleSet {
  /** Bounded by the run-time budget of one object. Synchronous, and it never throws. */
  readonly evaluate: (subject: RuleSubject) => readonly FieldError[];
}

export interface RuleSubject {
  /** With its defaults, as it will be stored. It fits the rest of the schema. */
  readonly object: JsonObject;
  /** Absent at create: transition rules are left out. What equals its old value may fail as before (ratcheting). */
  readonly old: JsonObject | undefined;
}

/** For a server without an engine: rules are kept and have no effect. */
export const NO_RULES: RuleEngine = { check: () => [], compile: () => undefined };

/** Whether any schema below this one has rules. */
export function hasRules(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  if (Array.isArray(schema)) return schema.some(hasRules);
  return Object.entries(schema).some(([key, value]) =>
    key === 'x-kubernetes-validations' ? Array.isArray(value) && value.length > 0 : hasRules(value),
  );
}
