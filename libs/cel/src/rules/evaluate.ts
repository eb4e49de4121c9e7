import type { RuleSet, RuleSubject } from '@holdfast/api';
import {
  deepEqual,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  isJsonObject,
  type Json,
  type JsonObject,
  ownValue,
  required,
} from '@holdfast/machinery';
import type { Variables } from '../compile.ts';
import { fromJson } from '../json-value.ts';
import { PER_CALL_LIMIT, RUNTIME_COST_BUDGET } from '../limits.ts';
import type { Now } from '../meter.ts';
import type { CelType } from '../types.ts';
import { BudgetExceeded, type CelValue, OptionalValue } from '../values.ts';
import type { CompiledRule } from './compile-rule.ts';
import { readFieldPath } from './field-path.ts';
import type { RuleText, Schema } from './schema.ts';

/** The rules of a schema and of the schemas below it. */
export interface RuleNode {
  readonly schema: Schema;
  readonly type: CelType;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly additional: RuleNode | undefined;
  readonly items: RuleNode | undefined;
  readonly allOf: readonly RuleNode[];
  /** Keys that match elements of the old and the new list. */
  readonly mapKeys: readonly string[] | undefined;
  /** Values of an atomic map are not matched with old values. */
  readonly isAtomicMap: boolean;
}

export interface Clocked {
  readonly now: Now;
  /** Deadline in milliseconds for all rules of one object. */
  readonly maxMilliseconds: number;
}

/** A value and its old value. */
interface Pair {
  readonly value: Json;
  readonly old: Json | undefined;
  /** True when the nearest matched value above is unchanged: a failure below it is then not new. */
  readonly parentUnchanged: () => boolean;
  readonly correlated: boolean;
}

interface Judged extends Pair {
  /** Compares the values at most once, however many rules fail. */
  readonly unchanged: () => boolean;
}

const MAX_MESSAGE_BYTES = 5 * 1024;
const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';
const NEVER = (): boolean => false;

export class CompiledRuleSet implements RuleSet {
  readonly #root: RuleNode;
  readonly #clock: Clocked | undefined;

  constructor(root: RuleNode, clock: Clocked | undefined) {
    this.#root = root;
    this.#clock = clock;
  }

  evaluate({ object, old }: RuleSubject): readonly FieldError[] {
    const run = new Run(this.#clock);
    run.visit(this.#root, '', { value: object, old, parentUnchanged: NEVER, correlated: old !== undefined });
    return run.errors;
  }
}

/** Evaluation stopped early, with the errors found so far. */
class Stopped extends Error {}

class Run {
  readonly errors: FieldError[] = [];
  readonly #now: Now | undefined;
  readonly #deadline: number;
  #budget = RUNTIME_COST_BUDGET;

  constructor(clock: Clocked | undefined) {
    this.#now = clock?.now;
    this.#deadline = clock === undefined ? Infinity : clock.now() + clock.maxMilliseconds;
  }

  visit(node: RuleNode, path: string, pair: Pair): void {
    try {
      this.#visit(node, path, pair);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
  }

  #visit(node: RuleNode, path: string, pair: Pair): void {
    if (pair.value === null) return;
    const { value } = pair;
    const unchanged = unchangedOf(pair);
    this.#ownRules(node, path, { ...pair, unchanged });
    for (const part of node.allOf) this.#visit(part, path, { ...pair, correlated: false });
    if (Array.isArray(value)) this.#elements(node, path, { ...pair, value, unchanged });
    else if (isJsonObject(value)) this.#fields(node, path, { ...pair, value, unchanged });
  }

  #fields(node: RuleNode, path: string, { unchanged, ...pair }: Judged & { readonly value: JsonObject }): void {
    const old = pair.old !== undefined && isJsonObject(pair.old) && !node.isAtomicMap ? pair.old : undefined;
    for (const key of Object.keys(pair.value)) {
      const child = node.properties.get(key);
      const below = child ?? node.additional;
      if (below === undefined) continue;
      const before = old === undefined ? undefined : ownValue(old, key);
      const childPath = child === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      const value = ownValue(pair.value, key) as Json;
      this.#visit(below, childPath, { value, old: before, parentUnchanged: unchanged, correlated: old !== undefined });
    }
  }

  #elements(node: RuleNode, path: string, { unchanged, ...pair }: Judged & { readonly value: readonly Json[] }): void {
    if (node.items === undefined) return;
    const counterparts =
      Array.isArray(pair.old) && node.mapKeys !== undefined ? byKeys(pair.old, node.mapKeys) : undefined;
    for (const [index, value] of pair.value.entries()) {
      const old = node.mapKeys === undefined ? undefined : counterparts?.get(keyOf(value, node.mapKeys));
      this.#visit(node.items, `${path}[${index}]`, {
        value,
        old,
        parentUnchanged: unchanged,
        correlated: counterparts !== undefined,
      });
    }
  }

  #ownRules(node: RuleNode, path: string, pair: Judged): void {
    if (node.rules.length === 0) return;
    if (this.#budget <= 0) this.#stop(node, path, OUT_OF_BUDGET);
    const self = fromJson(pair.value, node.type);
    for (const rule of node.rules) this.#rule(rule, node, path, { pair, self });
  }

  #rule(rule: CompiledRule, node: RuleNode, path: string, { pair, self }: { pair: Judged; self: CelValue }): void {
    const { text, program } = rule;
    if (rule.error !== undefined) {
      this.errors.push(invalid(pathText(path), node.schema['type'], `rule compile error: ${rule.error}`));
      return;
    }
    const hasOld = pair.old !== undefined && pair.old !== null;
    if (program === undefined || (rule.usesOldSelf && !hasOld && text.optionalOldSelf !== true)) return;
    const variables = variablesOf(self, text, hasOld ? fromJson(pair.old, node.type) : undefined);
    const outcome = program.evaluate(variables, this.#allowance());
    this.#spend(outcome.cost, node, path);
    if (outcome.error !== undefined) return this.#failed(outcome.error, text, node, path);
    if (outcome.value === true) return;
    if (!rule.usesOldSelf && pair.unchanged()) return;
    this.#broken(rule, node, path, variables);
  }

  #allowance() {
    return {
      costLimit: PER_CALL_LIMIT,
      ...(this.#now === undefined ? {} : { now: this.#now, deadline: this.#deadline }),
    };
  }

  #spend(cost: number, node: RuleNode, path: string): void {
    if (cost > this.#budget) this.#stop(node, path, OUT_OF_BUDGET);
    this.#budget -= cost;
  }

  #failed(error: Error, text: RuleText, node: RuleNode, path: string): void {
    const rule = ruleName(text);
    if (error instanceof BudgetExceeded) {
      this.#stop(
        node,
        path,
        `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`,
      );
    }
    const detail = error.message.startsWith('no such overload')
      ? `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`
      : `${error.message} evaluating rule: ${rule}`;
    this.errors.push(invalid(pathText(path), node.schema['type'], detail));
  }

  #broken({ text, message }: CompiledRule, node: RuleNode, path: string, variables: Variables): void {
    const detail = (message === undefined ? undefined : this.#message(message, variables)) ?? defaultMessage(text);
    const below = text.fieldPath === '' ? '' : (readFieldPath(text.fieldPath, node.schema).path ?? '');
    const joined = below === '' || path === '' ? `${path}${below}` : `${path}.${below}`;
    this.errors.push(errorOf(text.reason, pathText(joined), { value: node.schema['type'], detail }));
  }

  /** Returns `undefined` when the expression yields no usable text. */
  #message(message: NonNullable<CompiledRule['message']>, variables: Variables): string | undefined {
    const outcome = message.evaluate(variables, this.#allowance());
    this.#budget -= outcome.cost;
    if (typeof outcome.value !== 'string') return undefined;
    const text = outcome.value.trim();
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE_BYTES ? undefined : text;
  }

  #stop(node: RuleNode, path: string, detail: string): never {
    this.errors.push(invalid(pathText(path), node.schema['type'], detail));
    throw new Stopped();
  }
}

/** The root of an object has no path; Go prints it like this. */
function pathText(path: string): string {
  return path === '' ? '<nil>' : path;
}

function unchangedOf(pair: Pair): () => boolean {
  let known: boolean | undefined;
  return () => {
    known ??= isUnchanged(pair);
    return known;
  };
}

function isUnchanged(pair: Pair): boolean {
  if (!pair.correlated) return pair.parentUnchanged();
  return pair.old !== undefined && deepEqual(pair.value, pair.old);
}

function variablesOf(self: CelValue, text: RuleText, old: CelValue | undefined): Variables {
  return (name) => {
    if (name === 'self') return self;
    if (name !== 'oldSelf') return undefined;
    if (text.optionalOldSelf !== true) return old;
    return old === undefined ? OptionalValue.none : new OptionalValue(old);
  };
}

function byKeys(items: readonly Json[], mapKeys: readonly string[]): ReadonlyMap<string, Json> {
  return new Map(items.map((item) => [keyOf(item, mapKeys), item]));
}

function keyOf(item: Json, mapKeys: readonly string[]): string {
  if (!isJsonObject(item)) return '';
  return JSON.stringify(mapKeys.map((key) => ownValue(item, key) ?? null));
}

function ruleName({ rule, message }: RuleText): string {
  return (message === '' ? rule : message).trim();
}

function defaultMessage(text: RuleText): string {
  return text.message === '' ? `failed rule: ${ruleName(text)}` : text.message.trim();
}

function errorOf(
  reason: string | undefined,
  path: string,
  { value, detail }: { value: unknown; detail: string },
): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(path, detail);
    case 'FieldValueRequired':
      return required(path, detail);
    case 'FieldValueDuplicate':
      return duplicate(path, value);
    default:
      return invalid(path, value, detail);
  }
}
