import type { Meter } from './meter.ts';
import type { Range } from './size.ts';
import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

/** What functions may use at run time. */
export interface RunContext {
  /** Functions whose cost does not tell their work count it here. */
  readonly meter: Meter;
}

/** An argument, as cost estimates see it. */
export interface SizedArgument {
  readonly type: CelType;
  readonly size: Range;
  /** The size of an element, for lists of declared types. */
  readonly elementSize: Range | undefined;
  /** The value of a literal. */
  readonly literal: CelValue | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly resultSize?: Range;
}

/** One signature of a function. For a member function the first parameter is the target. */
export interface Overload {
  readonly id: string;
  readonly member: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  readonly run: (args: readonly CelValue[], context: RunContext) => CelValue;
  /** Cost of a call at run time; 1 when absent. */
  readonly cost?: (args: readonly CelValue[], result: CelValue) => number;
  /** Estimated cost; 1 when absent. */
  readonly estimate?: (args: readonly SizedArgument[]) => CallEstimate;
}

export type Functions = ReadonlyMap<string, readonly Overload[]>;

type Costs = Pick<Overload, 'cost' | 'estimate'>;
type Body = readonly [run: Overload['run'], costs?: Costs];

/** Collects the signatures of a library. */
export class FunctionTable {
  readonly #functions = new Map<string, Overload[]>();

  /** Adds `name(a, b)`. Pass `costs` after the function when a call does not cost 1. */
  global(name: string, id: string, signature: Signature, ...[run, costs]: Body): this {
    return this.#put(name, { id, member: false, ...signature, run, ...costs });
  }

  /** Adds `a.name(b)`. */
  member(name: string, id: string, signature: Signature, ...[run, costs]: Body): this {
    return this.#put(name, { id, member: true, ...signature, run, ...costs });
  }

  build(): Functions {
    return this.#functions;
  }

  #put(name: string, overload: Overload): this {
    const known = this.#functions.get(name);
    if (known === undefined) this.#functions.set(name, [overload]);
    else known.push(overload);
    return this;
  }
}

export interface Signature {
  readonly params: readonly CelType[];
  readonly result: CelType;
}

export function signature(params: readonly CelType[], result: CelType): Signature {
  return { params, result };
}

/** Joins several libraries. They may contain the same name. */
export function joinFunctions(...libraries: readonly Functions[]): Functions {
  const all = new Map<string, readonly Overload[]>();
  for (const library of libraries) {
    for (const [name, overloads] of library) all.set(name, [...(all.get(name) ?? []), ...overloads]);
  }
  return all;
}
