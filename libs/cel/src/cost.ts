import type { Call, Expr, Fold, OptionalMap } from './ast.ts';
import * as ast from './ast.ts';
import type { Checked } from './check.ts';
import type { Environment } from './environment.ts';
import { charCount } from './library/characters.ts';
import { LIST_CREATE_COST, MAP_CREATE_COST, SELECT_AND_IDENT_COST } from './limits.ts';
import type { CallEstimate, Overload, SizedArgument } from './overload.ts';
import { add, fixed, multiply, NOTHING, type Range, UNKNOWN_SIZE, union } from './size.ts';
import { type CelType, DYN, isScalar } from './types.ts';
import { sizeOf } from './values.ts';

/** Estimates the cost of one evaluation from the declared sizes of its inputs. */
export function estimateCost(expr: Expr, checked: Checked, environment: Environment): Range {
  return new Estimator(checked, environment).cost(expr);
}

interface Entry {
  readonly key: Range;
  readonly value: Range;
}
/** The known facts about a variable of a macro. */
interface Local {
  readonly origin: CelType | undefined;
  readonly size: Range | undefined;
}

const ACCESS = fixed(SELECT_AND_IDENT_COST);

class Estimator {
  readonly #checked: Checked;
  readonly #environment: Environment;
  readonly #sizes = new Map<number, Range>();
  readonly #entries = new Map<number, Entry>();
  readonly #locals = new Map<string, Local[]>();

  constructor(checked: Checked, environment: Environment) {
    this.#checked = checked;
    this.#environment = environment;
  }

  cost(expr: Expr): Range {
    switch (expr.op) {
      case 'literal':
        return NOTHING;
      case 'ident':
        return ACCESS;
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#list(expr);
      case 'map':
        return this.#map(expr);
      case 'fold':
        return this.#fold(expr);
      case 'optMap':
        return this.#optionalMap(expr);
    }
  }

  #select(expr: ast.Select): Range {
    const operand = this.cost(expr.operand);
    if (expr.mode === 'has') return operand;
    const type = this.#typeOf(expr.operand).kind;
    return expr.mode === 'optional' || type === 'map' || type === 'object' || type === 'param'
      ? add(operand, ACCESS)
      : operand;
  }

  #call(expr: Call): Range {
    const resolved = this.#checked.calls.get(expr.id);
    const args = resolved?.args ?? expr.args;
    const costs = args.map((each) => this.cost(each));
    const sum = add(...costs);
    switch (expr.name) {
      case ast.AND:
      case ast.OR:
        return { min: costs[0]?.min ?? 0, max: sum.max };
      case ast.CONDITIONAL:
        return this.#conditional(expr, args, costs);
      case 'dyn':
        this.#copySizes(expr, args[0] as Expr);
        return add(fixed(1), sum);
      default:
        return add(sum, this.#functionCost(expr, resolved?.overloads ?? [], args));
    }
  }

  #conditional(expr: Call, args: readonly Expr[], costs: readonly Range[]): Range {
    const [, first, second] = args as [Expr, Expr, Expr];
    this.#sizes.set(expr.id, union(this.#sizeOrUnknown(first), this.#sizeOrUnknown(second)));
    this.#joinEntries(expr, first, second);
    const [condition, left, right] = costs as [Range, Range, Range];
    return add(condition, union(left, right));
  }

  /** Covers all signatures that the call may resolve to. */
  #functionCost(expr: Call, overloads: readonly Overload[], args: readonly Expr[]): Range {
    let cost: Range = { min: Infinity, max: 0 };
    let size: Range | undefined;
    const sized = args.map((each) => this.#sized(each));
    for (const overload of overloads) {
      const estimate: CallEstimate = overload.estimate?.(sized) ?? { cost: fixed(1) };
      cost = union(cost, estimate.cost);
      const result = this.#resultSize(overload, estimate, args);
      if (result !== undefined) size = size === undefined ? result : union(size, result);
      if (overload.id === 'add_list') this.#joinEntries(expr, args[0] as Expr, args[1] as Expr);
    }
    if (size !== undefined) this.#sizes.set(expr.id, size);
    return cost.min === Infinity ? fixed(0) : cost;
  }

  #resultSize(overload: Overload, estimate: CallEstimate, args: readonly Expr[]): Range | undefined {
    if (overload.id !== 'index_list' && overload.id !== 'index_map') return estimate.resultSize;
    return this.#entryOf(args[0] as Expr)?.value;
  }

  #sized(expr: Expr): SizedArgument {
    const origin = this.#originOf(expr);
    const element = this.#entryOf(expr)?.value ?? (origin?.kind === 'list' ? declaredSize(origin.element) : undefined);
    return {
      type: this.#typeOf(expr),
      size: this.#sizeOrUnknown(expr),
      elementSize: element,
      literal: expr.op === 'literal' ? expr.value : undefined,
    };
  }

  #list(expr: ast.ListExpr): Range {
    const costs = expr.items.map((each) => this.cost(each));
    const value = this.#unionOfSizes(expr.items);
    this.#entries.set(expr.id, { key: fixed(1), value });
    return add(...costs, fixed(LIST_CREATE_COST));
  }

  #map(expr: ast.MapExpr): Range {
    const costs = expr.entries.flatMap(([key, value]) => [this.cost(key), this.cost(value)]);
    this.#entries.set(expr.id, {
      key: this.#unionOfSizes(expr.entries.map(([key]) => key)),
      value: this.#unionOfSizes(expr.entries.map(([, value]) => value)),
    });
    return add(...costs, fixed(MAP_CREATE_COST));
  }

  #unionOfSizes(items: readonly Expr[]): Range {
    const [first, ...others] = items.map((each) => this.#sizeOrUnknown(each));
    return first === undefined ? NOTHING : others.reduce(union, first);
  }

  #fold(expr: Fold): Range {
    const range = this.cost(expr.range);
    const locals = this.#iterated(expr);
    for (const [index, name] of expr.variables.entries()) this.#push(name, locals[index] as Local);
    const condition = expr.condition === undefined ? undefined : this.cost(expr.condition);
    const transform = expr.transform === undefined ? NOTHING : this.cost(expr.transform);
    const element = expr.transform === undefined ? UNKNOWN_SIZE : this.#sizeOrUnknown(expr.transform);
    for (const name of expr.variables) this.#locals.get(name)?.pop();
    const rounds = this.#sizeOrUnknown(expr.range);
    const { start, round, end } = foldCosts(expr, condition, transform);
    if (expr.fold === 'list' || expr.fold === 'map') {
      this.#sizes.set(expr.id, rounds);
      this.#entries.set(expr.id, { key: locals[0]?.size ?? UNKNOWN_SIZE, value: element });
    }
    return add(range, start, multiply(rounds, round), end);
  }

  #iterated({ range, variables }: Fold): readonly Local[] {
    const origin = this.#originOf(range);
    const entry = this.#entryOf(range);
    const isMap = this.#typeOf(range).kind === 'map';
    const value: Local = { origin: elementOf(origin), size: entry?.value };
    const key: Local = {
      origin: origin?.kind === 'map' ? origin.key : undefined,
      size: entry?.key ?? (isMap ? undefined : fixed(1)),
    };
    if (variables.length === 2) return [key, value];
    return [isMap ? key : value];
  }

  #optionalMap(expr: OptionalMap): Range {
    const target = this.cost(expr.target);
    this.#push(expr.variable, { origin: this.#originOf(expr.target), size: undefined });
    const body = this.cost(expr.body);
    this.#locals.get(expr.variable)?.pop();
    return add(target, { min: 1, max: body.max + 2 });
  }

  #push(name: string, local: Local): void {
    const known = this.#locals.get(name);
    if (known === undefined) this.#locals.set(name, [local]);
    else known.push(local);
  }

  #typeOf(expr: Expr): CelType {
    return this.#checked.types.get(expr.id) ?? DYN;
  }

  #sizeOrUnknown(expr: Expr): Range {
    return this.#sizeOf(expr) ?? UNKNOWN_SIZE;
  }

  #sizeOf(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr.id) ?? literalSize(expr);
    if (known !== undefined) return known;
    const origin = this.#originOf(expr);
    if (origin !== undefined) return declaredSize(origin);
    const type = this.#typeOf(expr);
    if (isScalar(type) || type.kind === 'type') return fixed(1);
    return expr.op === 'ident' ? this.#locals.get(expr.name)?.at(-1)?.size : undefined;
  }

  #entryOf(expr: Expr): Entry | undefined {
    return this.#entries.get(expr.id);
  }

  #joinEntries(expr: Expr, left: Expr, right: Expr): void {
    const a = this.#entryOf(left);
    const b = this.#entryOf(right);
    if (a === undefined || b === undefined) return;
    this.#entries.set(expr.id, { key: union(a.key, b.key), value: union(a.value, b.value) });
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#sizeOf(from);
    const entry = this.#entryOf(from);
    if (size !== undefined) this.#sizes.set(to.id, size);
    if (entry !== undefined) this.#entries.set(to.id, entry);
  }

  /** Returns the declared type of a value that is reached from a variable only through fields and elements. */
  #originOf(expr: Expr): CelType | undefined {
    switch (expr.op) {
      case 'ident': {
        const local = this.#locals.get(expr.name)?.at(-1);
        return local === undefined ? this.#environment.variables.get(expr.name) : local.origin;
      }
      case 'select':
        return expr.mode === 'has' ? undefined : fieldOf(this.#originOf(expr.operand), expr.field);
      case 'call':
        return expr.name === ast.INDEX ? elementOf(this.#originOf(expr.args[0] as Expr)) : undefined;
      default:
        return undefined;
    }
  }
}

/** Returns the costs of the comprehension that a macro stands for. */
function foldCosts(expr: Fold, condition: Range | undefined, transform: Range) {
  const test = condition ?? NOTHING;
  switch (expr.fold) {
    case 'all':
      return { start: NOTHING, round: add(fixed(2), { min: 1, max: 1 + test.max }), end: fixed(1) };
    case 'exists':
      return { start: NOTHING, round: add(fixed(3), { min: 1, max: 1 + test.max }), end: fixed(1) };
    case 'existsOne':
      return { start: NOTHING, round: add(test, { min: 1, max: 2 }), end: fixed(2) };
    case 'list':
      return { start: fixed(LIST_CREATE_COST), round: collectRound(12, condition, transform), end: fixed(1) };
    case 'map':
      return { start: fixed(MAP_CREATE_COST), round: collectRound(3, condition, transform), end: fixed(1) };
  }
}

function collectRound(base: number, condition: Range | undefined, transform: Range): Range {
  const taken = add(fixed(base), transform);
  return condition === undefined ? taken : add(condition, union(taken, fixed(1)));
}

function literalSize(expr: Expr): Range | undefined {
  switch (expr.op) {
    case 'literal':
      return fixed(typeof expr.value === 'string' ? charCount(expr.value) : sizeOf(expr.value));
    case 'list':
      return fixed(expr.items.length);
    case 'map':
      return fixed(expr.entries.length);
    default:
      return undefined;
  }
}

function fieldOf(type: CelType | undefined, field: string): CelType | undefined {
  if (type?.kind === 'object') return type.fields.get(field)?.type;
  return type?.kind === 'map' ? type.value : undefined;
}

function elementOf(type: CelType | undefined): CelType | undefined {
  if (type?.kind === 'list') return type.element;
  return type?.kind === 'map' ? type.value : undefined;
}

/** Without a declared size, a string or a container may have any size. */
function declaredSize(type: CelType): Range | undefined {
  if (type.maxElements !== undefined) return { min: 0, max: type.maxElements };
  if (isScalar(type) || type.kind === 'object') return NOTHING;
  return type.kind === 'dyn' ? undefined : UNKNOWN_SIZE;
}
