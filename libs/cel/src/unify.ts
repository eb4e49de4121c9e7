import { type CelType, DYN, isDyn, isOptional, type ObjectType } from './types.ts';

/**
 * Bindings of type parameters while an expression is checked. A failed attempt must leave no trace: callers take a copy
 * and keep it only when all arguments fit.
 */
export type Substitution = Map<string, CelType>;

/** Substitutes all bound parameters. Unbound parameters stay, or become dyn. */
export function substitute(type: CelType, known: Substitution, unknownToDyn: boolean): CelType {
  switch (type.kind) {
    case 'param': {
      const bound = known.get(type.name);
      if (bound !== undefined) return substitute(bound, known, unknownToDyn);
      return unknownToDyn ? DYN : type;
    }
    case 'list':
      return replaceList(type, known, unknownToDyn);
    case 'map': {
      const key = substitute(type.key, known, unknownToDyn);
      const value = substitute(type.value, known, unknownToDyn);
      return key === type.key && value === type.value ? type : { ...type, key, value };
    }
    case 'opaque': {
      if (type.params.length === 0) return type;
      return { ...type, params: type.params.map((each) => substitute(each, known, unknownToDyn)) };
    }
    case 'type':
      return { ...type, of: substitute(type.of, known, unknownToDyn) };
    default:
      return type;
  }
}

function replaceList(type: CelType & { kind: 'list' }, known: Substitution, unknownToDyn: boolean): CelType {
  const element = substitute(type.element, known, unknownToDyn);
  return element === type.element ? type : { ...type, element };
}

/**
 * Binds parameters so that `from` fits `to`. Returns the extended substitution, or `undefined` when it does not fit.
 */
export function assign(known: Substitution, to: CelType, from: CelType): Substitution | undefined {
  const attempt: Substitution = new Map(known);
  return isAssignable(attempt, to, from) ? attempt : undefined;
}

export function assignAll(
  known: Substitution,
  to: readonly CelType[],
  from: readonly CelType[],
): Substitution | undefined {
  if (to.length !== from.length) return undefined;
  const attempt: Substitution = new Map(known);
  for (const [index, target] of to.entries()) {
    if (!isAssignable(attempt, target, from[index] ?? DYN)) return undefined;
  }
  return attempt;
}

function isAssignable(known: Substitution, to: CelType, from: CelType): boolean {
  if (to.kind === 'param') return bindParam(known, to.name, from);
  if (from.kind === 'param') return bindParam(known, from.name, to);
  if (isDyn(to) || isDyn(from)) return true;
  if (from.kind === 'null') return to.kind === 'null' || isNullable(to);
  if (to.kind === 'null') return isNullable(from);
  if (to.kind !== from.kind) return false;
  return sameShape(known, to, from);
}

function sameShape(known: Substitution, to: CelType, from: CelType): boolean {
  switch (to.kind) {
    case 'list':
      return from.kind === 'list' && isAssignable(known, to.element, from.element);
    case 'map':
      return from.kind === 'map' && isAssignable(known, to.key, from.key) && isAssignable(known, to.value, from.value);
    case 'object':
      return from.kind === 'object' && sameObject(to, from);
    case 'opaque':
      return (
        from.kind === 'opaque' &&
        to.name === from.name &&
        to.params.every((each, index) => isAssignable(known, each, from.params[index] ?? DYN))
      );
    default:
      return true;
  }
}

function sameObject(to: ObjectType, from: ObjectType): boolean {
  return to === from || to.name === from.name;
}

function isNullable(type: CelType): boolean {
  return type.kind === 'object' || type.kind === 'timestamp' || type.kind === 'duration' || isOptional(type);
}

function bindParam(known: Substitution, name: string, type: CelType): boolean {
  const bound = known.get(name);
  if (bound === undefined) {
    const value = substitute(type, known, false);
    if (value.kind === 'param' && value.name === name) return true;
    if (mentions(value, name)) return false;
    known.set(name, value);
    return true;
  }
  if (!isAssignable(known, bound, type)) return false;
  // The parameter takes the wider of both types: dyn absorbs the other.
  if (isDyn(type) && bound.kind !== 'param') known.set(name, DYN);
  if (bound.kind === 'null' && type.kind !== 'null') known.set(name, type);
  return true;
}

function mentions(type: CelType, name: string): boolean {
  switch (type.kind) {
    case 'param':
      return type.name === name;
    case 'list':
      return mentions(type.element, name);
    case 'map':
      return mentions(type.key, name) || mentions(type.value, name);
    case 'opaque':
      return type.params.some((each) => mentions(each, name));
    case 'type':
      return mentions(type.of, name);
    default:
      return false;
  }
}
