import { isJsonArray, isJsonObject, type Json, ownValue } from '@holdfast/machinery';

/** One step of a path: a field, an index, all elements, or the elements whose field equals a value. */
type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'where'; readonly path: readonly string[]; readonly operator: Operator; readonly value: Json };

type Operator = '==' | '!=' | '>=' | '<=' | '>' | '<';

/** JSONPath as columns use it: `.spec.a`, `['a']`, `[0]`, `[-1]`, `[*]`, `[?(@.type=="Ready")]`. */
export class JsonPath {
  readonly #steps: readonly Step[];

  private constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }

  /** Returns `undefined` for unsupported syntax. */
  static parse(text: string): JsonPath | undefined {
    const steps: Step[] = [];
    let rest = text.trim().replace(/^\{(.*)\}$/s, '$1');
    if (rest.startsWith('$')) rest = rest.slice(1);
    if (rest === '') return undefined;
    while (rest !== '') {
      const found = nextStep(rest);
      if (found === undefined) return undefined;
      if (found.step !== undefined) steps.push(found.step);
      rest = rest.slice(found.length);
    }
    return new JsonPath(steps);
  }

  /** Returns all values at the path. */
  find(value: Json): readonly Json[] {
    let found: readonly Json[] = [value];
    for (const step of this.#steps) found = found.flatMap((each) => follow(each, step));
    return found;
  }
}

interface Found {
  readonly step: Step | undefined;
  readonly length: number;
}

const FIELD = /^\.((?:[^.[\]\\'"\s(){}]|\\.)+)/;
const QUOTED = /^\.?\[\s*(['"])((?:(?!\1)[^\\]|\\.)*)\1\s*\]/;
const INDEX = /^\.?\[\s*(-?\d{1,9})\s*\]/;
const ALL = /^\.?(?:\[\s*\*\s*\]|\.\*)/;
const WHERE =
  /^\.?\[\?\(\s*@((?:\.(?:[^.[\]\\'"\s(){}=<>!]|\\.)+)+)\s*(==|!=|>=|<=|>|<)\s*('[^']*'|"[^"]*"|[-\w.]+)\s*\)\]/;

function nextStep(text: string): Found | undefined {
  const all = ALL.exec(text);
  if (all !== null) return { step: { kind: 'all' }, length: all[0].length };
  const index = INDEX.exec(text);
  if (index !== null) return { step: { kind: 'index', index: Number(index[1]) }, length: index[0].length };
  const quoted = QUOTED.exec(text);
  if (quoted !== null) return { step: { kind: 'field', name: unescaped(quoted[2] ?? '') }, length: quoted[0].length };
  const where = WHERE.exec(text);
  if (where !== null) return { step: whereStep(where), length: where[0].length };
  const field = FIELD.exec(text);
  if (field === null) return text === '.' ? { step: undefined, length: 1 } : undefined;
  return { step: { kind: 'field', name: unescaped(field[1] ?? '') }, length: field[0].length };
}

const unescaped = (text: string): string => text.replace(/\\(.)/gs, '$1');

function whereStep([, path = '', operator = '==', value = '']: RegExpExecArray): Step {
  const names = path
    .slice(1)
    .split(/(?<!\\)\./)
    .map(unescaped);
  return { kind: 'where', path: names, operator: operator as Operator, value: literal(value) };
}

function literal(text: string): Json {
  if (/^['"]/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

function follow(value: Json, step: Step): readonly Json[] {
  switch (step.kind) {
    case 'field': {
      const child = isJsonObject(value) ? ownValue(value, step.name) : undefined;
      return child === undefined ? [] : [child];
    }
    case 'index': {
      const item = isJsonArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case 'all':
      return childrenOf(value);
    case 'where':
      return childrenOf(value).filter((child) => fits(child, step));
  }
}

function childrenOf(value: Json): readonly Json[] {
  if (isJsonArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function fits(value: Json, { path, operator, value: wanted }: Extract<Step, { kind: 'where' }>): boolean {
  let found: Json | undefined = value;
  for (const name of path) found = isJsonObject(found) ? ownValue(found, name) : undefined;
  if (found === undefined) return false;
  if (operator === '==') return found === wanted;
  if (operator === '!=') return found !== wanted;
  if (typeof found !== typeof wanted || found === null || wanted === null) return false;
  switch (operator) {
    case '>=':
      return found >= wanted;
    case '<=':
      return found <= wanted;
    case '>':
      return found > wanted;
    case '<':
      return found < wanted;
  }
}
