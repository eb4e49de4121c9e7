import type { Call, Expr, Fold, OptionalMap, Select } from './ast.ts';
import * as ast from './ast.ts';
import type { Checked, ResolvedCall } from './check.ts';
import { indexed, keyText } from './library/comparisons.ts';
import { LIST_CREATE_COST, LISTED_KEYS_PER_STEP, MAP_CREATE_COST, SELECT_AND_IDENT_COST } from './limits.ts';
import type { Meter } from './meter.ts';
import type { Overload, RunContext } from './overload.ts';
import { fits } from './runtime-types.ts';
import {
  ArrayList,
  type CelValue,
  EntryMap,
  EvaluationError,
  isList,
  isMap,
  type ListValue,
  type MapValue,
  OptionalValue,
} from './values.ts';

/** Looks a variable up on its first use. `undefined` means that it has no value. */
export type Variables = (name: string) => CelValue | undefined;

/** One evaluation: the outer variables, the variables of macros by slot, and the remaining budget. */
export interface Frame {
  readonly variables: Variables;
  readonly locals: CelValue[];
  readonly meter: Meter;
  readonly context: RunContext;
}

export type Step = (frame: Frame) => CelValue;

/** Compiles a checked expression to functions. */
export function compile(expr: Expr, checked: Checked): Step {
  return new Compiler(checked).step(expr);
}

class Compiler {
  readonly #checked: Checked;
  readonly #scope: string[] = [];

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  step(expr: Expr): Step {
    const constant = this.#checked.constants.get(expr.id);
    if (constant !== undefined) return () => constant;
    const qualified = this.#checked.qualified.get(expr.id);
    if (qualified !== undefined) return outer(qualified);
    switch (expr.op) {
      case 'literal': {
        const { value } = expr;
        return () => value;
      }
      case 'ident':
        return this.#ident(expr.name);
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(
          expr.items.map((each) => this.step(each)),
          expr.optional,
        );
      case 'map':
        return this.#map(
          expr.entries.map(([key, value]) => [this.step(key), this.step(value)] as const),
          expr.optional,
        );
      case 'fold':
        return this.#fold(expr);
      case 'optMap':
        return this.#optionalMap(expr);
    }
  }

  #ident(name: string): Step {
    const place = this.#scope.lastIndexOf(name);
    if (place !== -1) {
      return ({ locals, meter }) => {
        meter.spend(SELECT_AND_IDENT_COST);
        return locals[place] ?? null;
      };
    }
    return outer(name);
  }

  #select({ operand, field, mode }: Select): Step {
    const target = this.step(operand);
    if (mode === 'has') return (frame) => hasField(target(frame), field);
    return (frame) => {
      const value = target(frame);
      frame.meter.spend(SELECT_AND_IDENT_COST);
      if (mode === 'optional' || value instanceof OptionalValue) return optionalField(value, field);
      const found = fieldOf(value, field);
      if (found === undefined) throw new EvaluationError(`no such key: ${field}`);
      return found;
    };
  }

  #call(expr: Call): Step {
    const resolved = this.#checked.calls.get(expr.id);
    const args = (resolved?.args ?? expr.args).map((each) => this.step(each));
    const [first, second, third] = args as [Step, Step, Step];
    switch (expr.name) {
      case ast.AND:
        return shortCircuit(first, second, false);
      case ast.OR:
        return shortCircuit(first, second, true);
      case ast.INDEX:
        return (frame) => {
          frame.meter.spend(SELECT_AND_IDENT_COST);
          return indexed([first(frame), second(frame)]);
        };
      case ast.CONDITIONAL:
        return (frame) => (boolOf(first(frame)) ? second(frame) : third(frame));
      case 'or':
      case 'orValue':
        if (resolved?.overloads.every(({ id }) => id.startsWith('optional_')) === true) {
          return alternative(first, second, expr.name === 'orValue');
        }
        return this.#function(resolved, args);
      default:
        return this.#function(resolved, args);
    }
  }

  #function(resolved: ResolvedCall | undefined, args: readonly Step[]): Step {
    const [only, ...others] = resolved?.overloads ?? [];
    if (only === undefined) throw new Error('call without overloads');
    if (others.length === 0 && this.#isStatic(resolved as ResolvedCall)) return direct(only, args);
    return dispatching(resolved?.overloads ?? [], args);
  }

  /** True when the types of all arguments are known, so that no runtime check is needed. */
  #isStatic({ args }: ResolvedCall): boolean {
    return args.every((each) => isClosed(this.#checked.types.get(each.id)));
  }

  #list(items: readonly Step[], optional: ReadonlySet<number>): Step {
    if (optional.size > 0) return listWithOptional(items, optional);
    return (frame) => {
      const values = items.map((item) => item(frame));
      frame.meter.spend(LIST_CREATE_COST);
      return new ArrayList(values);
    };
  }

  #map(entries: readonly (readonly [Step, Step])[], optional: ReadonlySet<number>): Step {
    return (frame) => {
      const map = new EntryMap();
      for (const [index, [key, step]] of entries.entries()) {
        const name = key(frame);
        const value = optional.has(index) ? entryValue(step(frame)) : step(frame);
        if (value === undefined) continue;
        if (!map.set(name, value)) throw new EvaluationError(`Failed with repeated key: ${keyText(name)}`);
      }
      frame.meter.spend(MAP_CREATE_COST);
      return map;
    };
  }

  #fold(expr: Fold): Step {
    const range = this.step(expr.range);
    const base = this.#scope.length;
    this.#scope.push(...expr.variables);
    const condition = expr.condition === undefined ? undefined : this.step(expr.condition);
    const transform = expr.transform === undefined ? undefined : this.step(expr.transform);
    this.#scope.length = base;
    const loop = new Loop(range, base, expr.variables.length);
    switch (expr.fold) {
      case 'all':
        return quantified(loop, condition as Step, false);
      case 'exists':
        return quantified(loop, condition as Step, true);
      case 'existsOne':
        return exactlyOne(loop, condition as Step);
      case 'list':
        return collected(loop, condition, transform as Step);
      case 'map':
        return mapped(loop, condition, transform as Step);
    }
  }

  #optionalMap(expr: OptionalMap): Step {
    const target = this.step(expr.target);
    const place = this.#scope.length;
    this.#scope.push(expr.variable);
    const body = this.step(expr.body);
    this.#scope.pop();
    return (frame) => {
      const optional = target(frame);
      if (!(optional instanceof OptionalValue)) throw new EvaluationError('no such overload');
      if (optional.value === undefined) return OptionalValue.none;
      frame.locals[place] = optional.value;
      const result = body(frame);
      return expr.flat ? result : new OptionalValue(result);
    };
  }
}

function listWithOptional(items: readonly Step[], optional: ReadonlySet<number>): Step {
  return (frame) => {
    const values: CelValue[] = [];
    for (const [index, item] of items.entries()) {
      const value = optional.has(index) ? entryValue(item(frame)) : item(frame);
      if (value !== undefined) values.push(value);
    }
    frame.meter.spend(LIST_CREATE_COST);
    return new ArrayList(values);
  };
}

/** `undefined` leaves the entry out. */
function entryValue(value: CelValue): CelValue | undefined {
  if (value instanceof OptionalValue) return value.value;
  throw new EvaluationError('cannot initialize optional entry from non-optional value');
}

/** Reads an outer variable. */
function outer(name: string): Step {
  return ({ variables, meter }) => {
    meter.spend(SELECT_AND_IDENT_COST);
    const value = variables(name);
    if (value === undefined) throw new EvaluationError(`no such attribute(s): ${name}`);
    return value;
  };
}

function isClosed(type: { readonly kind: string } | undefined): boolean {
  return type !== undefined && type.kind !== 'dyn' && type.kind !== 'param' && type.kind !== 'error';
}

function direct({ run, cost }: Overload, args: readonly Step[]): Step {
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    return paid(frame, values, { run, cost });
  };
}

/** Calls the first signature that fits the values. */
function dispatching(overloads: readonly Overload[], args: readonly Step[]): Step {
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    const overload = overloads.find(({ params }) => params.every((param, index) => fits(values[index] ?? null, param)));
    if (overload === undefined) throw new EvaluationError('no such overload');
    return paid(frame, values, overload);
  };
}

function paid(
  { meter, context }: Frame,
  values: readonly CelValue[],
  { run, cost }: { run: Overload['run']; cost?: Overload['cost'] | undefined },
): CelValue {
  for (const value of values) {
    if (typeof value === 'string' || value instanceof Uint8Array) meter.text(value.length);
  }
  // When the arguments determine the cost, charge it before the work.
  if (cost === undefined || cost.length < 2) {
    meter.spend(cost === undefined ? 1 : cost(values, null));
    return run(values, context);
  }
  const result = run(values, context);
  meter.spend(cost(values, result));
  return result;
}

function boolOf(value: CelValue): boolean {
  if (typeof value !== 'boolean') throw new EvaluationError('no such overload');
  return value;
}

/** `&&` and `||`: a decisive operand hides the failure of the other one, on either side. */
function shortCircuit(left: Step, right: Step, decisive: boolean): Step {
  return (frame) => {
    let failure: EvaluationError | undefined;
    try {
      if (boolOf(left(frame)) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      failure = error;
    }
    const value = boolOf(right(frame));
    if (value === decisive || failure === undefined) return value;
    throw failure;
  };
}

function alternative(target: Step, other: Step, unwraps: boolean): Step {
  return (frame) => {
    const optional = target(frame);
    if (!(optional instanceof OptionalValue)) throw new EvaluationError('no such overload');
    frame.meter.spend(1);
    if (optional.value === undefined) return other(frame);
    return unwraps ? optional.value : optional;
  };
}

function fieldOf(value: CelValue, field: string): CelValue | undefined {
  if (!isMap(value)) throw new EvaluationError('no such overload');
  return value.get(field);
}

function hasField(value: CelValue, field: string): boolean {
  if (value instanceof OptionalValue) return value.value !== undefined && hasField(value.value, field);
  return fieldOf(value, field) !== undefined;
}

function optionalField(value: CelValue, field: string): OptionalValue {
  const target = value instanceof OptionalValue ? value.value : value;
  const found = target === undefined ? undefined : fieldOf(target, field);
  return found === undefined ? OptionalValue.none : new OptionalValue(found);
}

/** Runs a body for each element of a list or each key of a map, with the variables of the macro set. */
class Loop {
  readonly #range: Step;
  readonly #place: number;
  readonly #two: boolean;

  constructor(range: Step, place: number, variables: number) {
    this.#range = range;
    this.#place = place;
    this.#two = variables === 2;
  }

  /** Stops when the body returns false. */
  run(frame: Frame, body: (first: CelValue) => boolean): void {
    const range = this.#range(frame);
    if (isList(range)) this.#overList(frame, range, body);
    else if (isMap(range)) this.#overMap(frame, range, body);
    else throw new EvaluationError('no such overload');
  }

  #overList({ locals, meter }: Frame, list: ListValue, body: (first: CelValue) => boolean): void {
    const { size } = list;
    for (let index = 0; index < size; index += 1) {
      meter.work(1);
      const item = list.at(index);
      const first = this.#two ? BigInt(index) : item;
      locals[this.#place] = first;
      if (this.#two) locals[this.#place + 1] = item;
      if (!body(first)) return;
    }
  }

  #overMap({ locals, meter }: Frame, map: MapValue, body: (first: CelValue) => boolean): void {
    // All keys are listed, even when the body stops at the first one.
    meter.work(map.size / LISTED_KEYS_PER_STEP);
    for (const key of map.keys()) {
      meter.work(1);
      locals[this.#place] = key;
      if (this.#two) locals[this.#place + 1] = map.get(key) ?? null;
      if (!body(key)) return;
    }
  }
}

/** The cost of a round without its body, equal to that of the comprehension which the macro stands for. */
const ALL_ROUND_COST = 3;
const EXISTS_ROUND_COST = 4;
const COLLECT_ROUND_COST = 12;
const COUNT_ROUND_COST = 1;

function quantified(loop: Loop, condition: Step, decisive: boolean): Step {
  const round = decisive ? EXISTS_ROUND_COST : ALL_ROUND_COST;
  return (frame) => {
    let failure: EvaluationError | undefined;
    let decided = false;
    loop.run(frame, () => {
      frame.meter.spend(round);
      try {
        decided = boolOf(condition(frame)) === decisive;
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        failure ??= error;
      }
      return !decided;
    });
    frame.meter.spend(1);
    if (decided) return decisive;
    if (failure !== undefined) throw failure;
    return !decisive;
  };
}

function exactlyOne(loop: Loop, condition: Step): Step {
  return (frame) => {
    let count = 0;
    loop.run(frame, () => {
      frame.meter.spend(COUNT_ROUND_COST);
      if (boolOf(condition(frame))) count += 1;
      return true;
    });
    frame.meter.spend(2);
    return count === 1;
  };
}

function collected(loop: Loop, condition: Step | undefined, transform: Step): Step {
  return (frame) => {
    const values: CelValue[] = [];
    loop.run(frame, () => {
      if (condition !== undefined && !boolOf(condition(frame))) {
        frame.meter.spend(1);
        return true;
      }
      values.push(transform(frame));
      frame.meter.spend(COLLECT_ROUND_COST);
      return true;
    });
    frame.meter.spend(LIST_CREATE_COST + 1);
    return new ArrayList(values);
  };
}

function mapped(loop: Loop, condition: Step | undefined, transform: Step): Step {
  return (frame) => {
    const map = new EntryMap();
    loop.run(frame, (key) => {
      frame.meter.spend(2);
      if (condition === undefined || boolOf(condition(frame))) map.set(key, transform(frame));
      return true;
    });
    frame.meter.spend(MAP_CREATE_COST + 1);
    return map;
  };
}
