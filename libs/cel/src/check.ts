import type { Call, Expr, Fold, OptionalMap, Select } from './ast.ts';
import * as ast from './ast.ts';
import type { Environment } from './environment.ts';
import type { Issue } from './issues.ts';
import type { Overload } from './overload.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  ERROR,
  INT,
  isDyn,
  isOptional,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  param,
  STRING,
  TIMESTAMP,
  typeName,
  UINT,
} from './types.ts';
import { assign, assignAll, type Substitution, substitute } from './unify.ts';
import { type CelValue, Duration, Timestamp, TypeValue, Uint } from './values.ts';

/** The resolution of a call. A call of a namespaced function has no target. */
export interface ResolvedCall {
  readonly overloads: readonly Overload[];
  readonly args: readonly Expr[];
}

export interface Checked {
  readonly type: CelType;
  readonly types: ReadonlyMap<number, CelType>;
  readonly calls: ReadonlyMap<number, ResolvedCall>;
  /** Selections that form the qualified name of a variable. */
  readonly qualified: ReadonlyMap<number, string>;
  /** Names of types, which are values. */
  readonly constants: ReadonlyMap<number, CelValue>;
}

/** Determines the type of every part of an expression. */
export function check(expr: Expr, environment: Environment): Checked | { readonly issues: readonly Issue[] } {
  const checker = new Checker(environment);
  const type = checker.typeOf(expr);
  if (checker.issues.length > 0) return { issues: checker.issues.toSorted((a, b) => a.offset - b.offset) };
  return checker.result(type);
}

const NONE: ReadonlySet<number> = new Set();

class Checker {
  readonly issues: Issue[] = [];
  readonly #environment: Environment;
  readonly #types = new Map<number, CelType>();
  readonly #calls = new Map<number, ResolvedCall>();
  readonly #constants = new Map<number, CelValue>();
  readonly #qualified = new Map<number, string>();
  readonly #scope: Map<string, CelType>[] = [];
  #known: Substitution = new Map();
  #fresh = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  result(type: CelType): Checked {
    const types = new Map<number, CelType>();
    for (const [id, each] of this.#types) types.set(id, substitute(each, this.#known, true));
    return {
      type: substitute(type, this.#known, true),
      types,
      calls: this.#calls,
      constants: this.#constants,
      qualified: this.#qualified,
    };
  }

  typeOf(expr: Expr): CelType {
    const type = this.#visit(expr);
    this.#types.set(expr.id, type);
    return type;
  }

  #visit(expr: Expr): CelType {
    switch (expr.op) {
      case 'literal':
        return literalType(expr.value);
      case 'ident':
        return this.#ident(expr);
      case 'select':
        return this.#select(expr);
      case 'call':
        return this.#call(expr);
      case 'list':
        return listOf(this.#joined(expr.items, expr.optional));
      case 'map':
        return mapOf(
          this.#joined(expr.entries.map(([key]) => key)),
          this.#joined(
            expr.entries.map(([, value]) => value),
            expr.optional,
          ),
        );
      case 'fold':
        return this.#fold(expr);
      case 'optMap':
        return this.#optionalMap(expr);
    }
  }

  #ident(expr: ast.Ident): CelType {
    const type = this.#lookUp(expr.name);
    if (type !== undefined) return type;
    const named = this.#environment.typeNames.get(expr.name);
    if (named !== undefined) return this.#typeConstant(expr, named);
    return this.#fail(expr, `undeclared reference to '${expr.name}' (in container '')`);
  }

  #typeConstant(expr: Expr, of: CelType): CelType {
    this.#constants.set(expr.id, new TypeValue(valueTypeName(of)));
    return { kind: 'type', of };
  }

  #isLocal(name: string): boolean {
    return this.#scope.some((level) => level.has(name));
  }

  #lookUp(name: string): CelType | undefined {
    for (let level = this.#scope.length - 1; level >= 0; level -= 1) {
      const type = this.#scope[level]?.get(name);
      if (type !== undefined) return type;
    }
    return this.#environment.variables.get(name);
  }

  #select(expr: Select): CelType {
    const qualified = qualifiedName(expr);
    const variable = qualified === undefined ? undefined : this.#environment.variables.get(qualified);
    if (qualified !== undefined && variable !== undefined && !this.#isLocal(rootOf(qualified))) {
      this.#qualified.set(expr.id, qualified);
      return variable;
    }
    if (qualified !== undefined && this.#lookUp(rootOf(qualified)) === undefined) {
      const named = this.#environment.typeNames.get(qualified);
      if (named !== undefined) return this.#typeConstant(expr, named);
    }
    const operand = substitute(this.typeOf(expr.operand), this.#known, false);
    const wrapped = isOptional(operand);
    const target = wrapped ? (operand.params[0] ?? DYN) : operand;
    const field = this.#fieldType(expr, target);
    if (expr.mode === 'has') return field.kind === 'error' ? ERROR : BOOL;
    return wrapped || expr.mode === 'optional' ? optionalOf(field) : field;
  }

  #fieldType(expr: Select, target: CelType): CelType {
    switch (target.kind) {
      case 'map':
        return target.value;
      case 'object': {
        const field = target.fields.get(expr.field);
        return field === undefined ? this.#fail(expr, `undefined field '${expr.field}'`) : field.type;
      }
      case 'param':
        // A value of unknown type may have any fields.
        this.#known = assign(this.#known, target, DYN) ?? this.#known;
        return DYN;
      case 'dyn':
      case 'error':
        return target;
      default:
        return this.#fail(expr, `type '${typeName(target)}' does not support field selection`);
    }
  }

  #call(expr: Call): CelType {
    if (expr.target === undefined) return this.#resolve(expr, expr.args, false);
    const qualified = qualifiedName(expr.target);
    if (qualified !== undefined && this.#lookUp(rootOf(qualified)) === undefined) {
      const name = `${qualified}.${expr.name}`;
      if (this.#environment.functions.has(name)) return this.#resolve({ ...expr, name }, expr.args, false);
    }
    return this.#resolve(expr, [expr.target, ...expr.args], true);
  }

  #resolve(expr: Call, args: readonly Expr[], member: boolean): CelType {
    const overloads = this.#environment.functions.get(expr.name);
    const types = args.map((each) => this.typeOf(each));
    if (overloads === undefined) {
      return this.#fail(expr, `undeclared reference to '${expr.name}' (in container '')`);
    }
    if (types.some((each) => each.kind === 'error')) return ERROR;
    const fitting = this.#fitting(overloads, types, member);
    if (fitting === undefined) return this.#fail(expr, this.#noOverload(expr.name, types, member));
    this.#known = fitting.known;
    this.#calls.set(expr.id, { overloads: fitting.overloads, args });
    return fitting.result;
  }

  /** Returns all signatures that fit the arguments. When their results differ, the result is dyn. */
  #fitting(overloads: readonly Overload[], types: readonly CelType[], member: boolean) {
    const found: Overload[] = [];
    let known = this.#known;
    let result: CelType | undefined;
    for (const overload of overloads) {
      if (overload.member !== member || overload.params.length !== types.length) continue;
      const fresh = this.#instantiate(overload);
      const fits = assignAll(known, fresh.params, types);
      if (fits === undefined) continue;
      known = fits;
      found.push(overload);
      const type = substitute(fresh.result, known, false);
      if (result === undefined) result = type;
      else if (typeName(result) !== typeName(type)) result = DYN;
    }
    return result === undefined ? undefined : { overloads: found, known, result };
  }

  /** Returns the signature with fresh type parameters for this call. */
  #instantiate({ params, result }: Overload): { params: readonly CelType[]; result: CelType } {
    this.#fresh += 1;
    const rename: Substitution = new Map(['A', 'B'].map((name) => [name, param(`_${name}${this.#fresh}`)]));
    return {
      params: params.map((each) => substitute(each, rename, false)),
      result: substitute(result, rename, false),
    };
  }

  #noOverload(name: string, types: readonly CelType[], member: boolean): string {
    const names = types.map((each) => typeName(substitute(each, this.#known, true)));
    const shown = member ? `${names[0]}.(${names.slice(1).join(', ')})` : `(${names.join(', ')})`;
    return `found no matching overload for '${name}' applied to '${shown}'`;
  }

  /** Returns the common type of all elements of a literal list or map. */
  #joined(items: readonly Expr[], optional: ReadonlySet<number> = NONE): CelType {
    let joined: CelType | undefined;
    for (const [index, item] of items.entries()) {
      const type = optional.has(index) ? this.#valueType(item) : this.typeOf(item);
      joined = joined === undefined ? type : this.#join(joined, type, item);
    }
    if (joined !== undefined) return joined;
    this.#fresh += 1;
    return param(`_E${this.#fresh}`);
  }

  /** The type of the value of an optional entry. */
  #valueType(item: Expr): CelType {
    const type = substitute(this.typeOf(item), this.#known, false);
    if (isOptional(type)) return type.params[0] ?? DYN;
    if (isDyn(type) || type.kind === 'error') return DYN;
    return this.#fail(item, `expected type '${typeName(optionalOf(type))}' but found '${typeName(type)}'`);
  }

  #join(joined: CelType, type: CelType, item: Expr): CelType {
    const known = assign(this.#known, joined, type);
    if (known === undefined) {
      const wanted = typeName(substitute(joined, this.#known, true));
      const found = typeName(substitute(type, this.#known, true));
      if (!this.#environment.homogeneousLiterals) return DYN;
      this.#fail(item, `expected type '${wanted}' but found '${found}'`);
      return joined;
    }
    this.#known = known;
    if (isDyn(type) || isDyn(joined)) return DYN;
    return joined.kind === 'null' ? type : joined;
  }

  #fold(expr: Fold): CelType {
    const range = substitute(this.typeOf(expr.range), this.#known, false);
    const variables = this.#iterated(expr, range);
    this.#scope.push(new Map(expr.variables.map((name, index) => [name, variables[index] ?? DYN])));
    if (expr.condition !== undefined) this.#expectBool(expr.condition);
    const transform = expr.transform === undefined ? BOOL : this.typeOf(expr.transform);
    this.#scope.pop();
    if (expr.fold === 'list') return listOf(transform);
    return expr.fold === 'map' ? mapOf(variables[0] ?? DYN, transform) : BOOL;
  }

  #iterated(expr: Fold, range: CelType): readonly CelType[] {
    const two = expr.variables.length === 2;
    switch (range.kind) {
      case 'list':
        return two ? [INT, range.element] : [range.element];
      case 'map':
        return two ? [range.key, range.value] : [range.key];
      case 'dyn':
      case 'error':
      case 'param':
        return [DYN, DYN];
      default:
        this.#fail(
          expr.range,
          `expression of type '${typeName(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [ERROR, ERROR];
    }
  }

  #expectBool(expr: Expr): void {
    const type = this.typeOf(expr);
    const known = assign(this.#known, BOOL, type);
    if (known === undefined) {
      this.#fail(expr, `expected type 'bool' but found '${typeName(substitute(type, this.#known, true))}'`);
      return;
    }
    this.#known = known;
  }

  #optionalMap(expr: OptionalMap): CelType {
    const target = substitute(this.typeOf(expr.target), this.#known, false);
    if (!isOptional(target) && !isDyn(target)) {
      return this.#fail(expr, this.#noOverload(expr.flat ? 'optFlatMap' : 'optMap', [target], true));
    }
    const value = isOptional(target) ? (target.params[0] ?? DYN) : DYN;
    this.#scope.push(new Map([[expr.variable, value]]));
    const body = this.typeOf(expr.body);
    this.#scope.pop();
    return expr.flat ? body : optionalOf(body);
  }

  #fail(expr: Expr, message: string): CelType {
    this.issues.push({ offset: expr.offset, message });
    return ERROR;
  }
}

function literalType(value: CelValue): CelType {
  if (value === null) return NULL;
  if (value instanceof Uint) return UINT;
  if (value instanceof Uint8Array) return BYTES;
  if (value instanceof Timestamp) return TIMESTAMP;
  if (value instanceof Duration) return DURATION;
  switch (typeof value) {
    case 'boolean':
      return BOOL;
    case 'bigint':
      return INT;
    case 'number':
      return DOUBLE;
    case 'string':
      return STRING;
    default:
      return DYN;
  }
}

/** Returns `a.b.c` when the expression consists only of names and dots. */
function qualifiedName(expr: Expr): string | undefined {
  if (expr.op === 'ident') return expr.name;
  if (expr.op !== 'select' || expr.mode !== 'value') return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}

function rootOf(qualified: string): string {
  const dot = qualified.indexOf('.');
  return dot === -1 ? qualified : qualified.slice(0, dot);
}

function valueTypeName(type: CelType): string {
  switch (type.kind) {
    case 'null':
      return 'null_type';
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    case 'opaque':
    case 'object':
      return type.name;
    case 'list':
    case 'map':
    case 'type':
      return type.kind;
    default:
      return typeName(type);
  }
}
