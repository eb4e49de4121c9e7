import type { FieldError, JsonObject } from '@holdfast/machinery';
import type { PatternRoom } from './pattern-room.ts';

/**
 * The rules of a schema (`x-kubernetes-validations`). An engine compiles them once per version of a definition and
 * evaluates them for every write. The pipeline uses only this interface, so the engine is replaceable.
 */
export interface RuleEngine {
  /**
   * Returns the errors in the rules of one schema: syntax, types, estimated cost. Called when a definition is created
   * or changed. `path` is the position of the schema: `spec.validation.openAPIV3Schema`.
   */
  readonly check: (schema: JsonObject, path: string, scope: RuleScope) => readonly FieldError[];
  /** Returns `undefined` for a schema without rules. Never throws: a rule that does not compile fails on evaluation. */
  readonly compile: (schema: JsonObject) => RuleSet | undefined;
}

export interface RuleScope {
  /** The schema before an update: unchanged rules are not refused. */
  readonly old: JsonObject | undefined;
  /** The room for the patterns in all rules of the definition. */
  readonly patterns: PatternRoom;
}

export interface RuleSet {
  /** Limited by the run-time budget of one object. Synchronous; never throws. */
  readonly evaluate: (subject: RuleSubject) => readonly FieldError[];
}

export interface RuleSubject {
  /** The object with its defaults, in stored form. It already fits the rest of the schema. */
  readonly object: JsonObject;
  /**
   * Absent on create: transition rules are skipped then. A value equal to its old value may keep failing (ratcheting).
   */
  readonly old: JsonObject | undefined;
}

/** For a server without an engine: rules are stored and have no effect. */
export const NO_RULES: RuleEngine = { check: () => [], compile: () => undefined };

/** True when this schema or any schema below it has rules. */
export function hasRules(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  if (Array.isArray(schema)) return schema.some(hasRules);
  return Object.entries(schema).some(([key, value]) =>
    key === 'x-kubernetes-validations' ? Array.isArray(value) && value.length > 0 : hasRules(value),
  );
}
