import { type FieldError, fieldErrorMessage, invalid, Verbatim } from './field-errors.ts';
import { ownValue } from './json.ts';
import { labelValueErrors, qualifiedNameErrors } from './name-rules.ts';

export type SelectorOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'exists' | '!' | 'gt' | 'lt';

export interface Requirement {
  readonly key: string;
  readonly operator: SelectorOperator;
  /** Sorted, without duplicates. */
  readonly values: readonly string[];
}

export type Labels = Readonly<Record<string, string>>;

/** A compiled label selector. */
export interface LabelSelectorMatcher {
  readonly requirements: readonly Requirement[];
  /** True when it matches everything. */
  readonly empty: boolean;
  /** Pairs that every match has. An index by label may start from any of them. */
  readonly exactPairs: readonly (readonly [key: string, value: string])[];
  readonly matches: (labels: Labels | undefined) => boolean;
  /** The canonical text. */
  readonly text: string;
}

/** The shape of `metav1.LabelSelector`. */
export interface LabelSelectorObject {
  readonly matchLabels?: Labels | null | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[] | null | undefined;
      }[]
    | null
    | undefined;
}

/** Invalid selector text. The response is a 400 with exactly this message. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

const NO_LABELS: Labels = Object.freeze({});

type Test = (labels: Labels) => boolean;

/** True when the labels contain each of the wanted pairs. */
export function hasPairs(labels: Labels | undefined, wanted: Labels): boolean {
  for (const key of Object.keys(wanted)) if (ownValue(labels, key) !== wanted[key]) return false;
  return true;
}

export function compileRequirements(requirements: readonly Requirement[]): LabelSelectorMatcher {
  const sorted = requirements.toSorted((a, b) => compareText(a.key, b.key));
  const matches = sorted.length > FEW_REQUIREMENTS ? compileMany(sorted) : compileFew(sorted);
  let text: string | undefined;
  return Object.freeze({
    requirements: sorted,
    empty: sorted.length === 0,
    exactPairs: sorted.flatMap(exactPairOf),
    matches: (labels: Labels | undefined) => matches(labels ?? NO_LABELS),
    get text() {
      return (text ??= sorted.map(formatRequirement).join(','));
    },
  });
}

/** Up to this many requirements, testing them one by one costs less than iterating the labels. */
const FEW_REQUIREMENTS = 16;

function compileFew(requirements: readonly Requirement[]): Test {
  const tests = requirements.map(compileRequirement);
  return (labels) => {
    for (const test of tests) if (!test(labels)) return false;
    return true;
  };
}

/** Visits each label of an object once: an object has few labels, but a client may send thousands of requirements. */
function compileMany(requirements: readonly Requirement[]): Test {
  const byKey = new Map<string, KeyTest>();
  for (const requirement of requirements) {
    const known = byKey.get(requirement.key);
    if (known === undefined) byKey.set(requirement.key, new KeyTest(requirement));
    else known.add(requirement);
  }
  const tests = [...byKey.values()];
  if (tests.some((test) => test.isNever)) return () => false;
  const needed = tests.filter((test) => test.isNeeded).length;
  return (labels) => {
    let found = 0;
    for (const key in labels) {
      const test = byKey.get(key);
      if (test === undefined || !Object.hasOwn(labels, key)) continue;
      if (!test.accepts(labels[key] ?? '')) return false;
      if (test.isNeeded) found += 1;
    }
    return found === needed;
  };
}

/** Matches nothing: the meaning of an absent selector where Kubernetes says "select no objects". */
export const NOTHING: LabelSelectorMatcher = Object.freeze({
  requirements: [],
  empty: false,
  exactPairs: [],
  matches: () => false,
  text: '',
});

export const EVERYTHING: LabelSelectorMatcher = compileRequirements([]);

function exactPairOf(requirement: Requirement): (readonly [string, string])[] {
  const [only] = requirement.values;
  const pins = ['=', '==', 'in'].includes(requirement.operator) && requirement.values.length === 1;
  return pins && only !== undefined ? [[requirement.key, only]] : [];
}

function compileRequirement({ key, operator, values }: Requirement): Test {
  const [first = ''] = values;
  const set: ReadonlySet<string> = new Set(values);
  const includes = values.length === 1 ? (label: string) => label === first : (label: string) => set.has(label);
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return (labels) => {
        const label = ownValue(labels, key);
        return label !== undefined && includes(label);
      };
    case '!=':
    case 'notin':
      return (labels) => {
        const label = ownValue(labels, key);
        return label === undefined || !includes(label);
      };
    case 'exists':
      return (labels) => Object.hasOwn(labels, key);
    case '!':
      return (labels) => !Object.hasOwn(labels, key);
    case 'gt':
      return compareIntegers(key, first, (label, bound) => label > bound);
    case 'lt':
      return compareIntegers(key, first, (label, bound) => label < bound);
  }
}

function compareIntegers(key: string, bound: string, holds: (label: bigint, bound: bigint) => boolean): Test {
  const limit = parseInteger(bound);
  return (labels) => {
    const label = ownValue(labels, key);
    const number = label === undefined ? undefined : parseInteger(label);
    return number !== undefined && limit !== undefined && holds(number, limit);
  };
}

/** The combination of all requirements on one label. */
class KeyTest {
  /** True when the label must be present. */
  isNeeded = false;
  #isRefused = false;
  #one: ReadonlySet<string> | undefined;
  readonly #none = new Set<string>();
  #above: bigint | undefined;
  #below: bigint | undefined;
  #isNoNumber = false;

  constructor(requirement: Requirement) {
    this.add(requirement);
  }

  /** True when no object can match. */
  get isNever(): boolean {
    return this.#isNoNumber || (this.isNeeded && (this.#isRefused || this.#one?.size === 0));
  }

  add({ operator, values }: Requirement): void {
    if (operator === '!') {
      this.#isRefused = true;
      return;
    }
    if (operator === '!=' || operator === 'notin') {
      for (const value of values) this.#none.add(value);
      return;
    }
    this.isNeeded = true;
    if (operator === 'gt' || operator === 'lt') this.#bound(operator, parseInteger(values[0] ?? ''));
    else if (operator !== 'exists') {
      const known = this.#one;
      this.#one = new Set(known === undefined ? values : values.filter((value) => known.has(value)));
    }
  }

  #bound(operator: 'gt' | 'lt', limit: bigint | undefined): void {
    if (limit === undefined) this.#isNoNumber = true;
    else if (operator === 'gt') this.#above = this.#above === undefined || limit > this.#above ? limit : this.#above;
    else this.#below = this.#below === undefined || limit < this.#below ? limit : this.#below;
  }

  accepts(value: string): boolean {
    if (this.#isRefused || this.#none.has(value) || this.#one?.has(value) === false) return false;
    if (this.#above === undefined && this.#below === undefined) return true;
    const number = parseInteger(value);
    if (number === undefined) return false;
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below);
  }
}

const INT64_MAX = (1n << 63n) - 1n;

function parseInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const magnitude = BigInt(text.replace(/^[+-]/, ''));
  const number = text.startsWith('-') ? -magnitude : magnitude;
  return number > INT64_MAX || number < -INT64_MAX - 1n ? undefined : number;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'gt':
      return `${key}>${values.join(',')}`;
    case 'lt':
      return `${key}<${values.join(',')}`;
    case '=':
    case '==':
    case '!=':
      return `${key}${operator}${values.join(',')}`;
  }
}

/** Validates as Kubernetes' NewRequirement does. Throws SelectorError. */
export function createRequirement(key: string, operator: SelectorOperator, values: readonly string[]): Requirement {
  const errors: FieldError[] = [
    ...labelKeyErrors(key, 'key'),
    ...valueCountErrors(operator, values),
    ...values.flatMap((value, index) => labelValueFieldErrors(key, value, index)),
  ];
  if (errors.length > 0) throw new SelectorError(aggregate(errors));
  return { key, operator, values: [...new Set(values)].sort(compareText) };
}

export function labelKeyErrors(key: string, field: string): FieldError[] {
  const wrong = qualifiedNameErrors(key);
  return wrong.length === 0 ? [] : [invalid(field, key, wrong.join('; '))];
}

function labelValueFieldErrors(key: string, value: string, index: number): FieldError[] {
  const wrong = labelValueErrors(value);
  return wrong.length === 0 ? [] : [invalid(`values[${index}][${key}]`, value, wrong.join('; '))];
}

/** Go's notation. */
const NO_VALUES = new Verbatim('[]string{}');

function valueCountErrors(operator: SelectorOperator, values: readonly string[]): FieldError[] {
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length > 0
        ? []
        : [invalid('values', NO_VALUES, "for 'in', 'notin' operators, values set can't be empty")];
    case '=':
    case '==':
    case '!=':
      return values.length === 1
        ? []
        : [invalid('values', values, 'exact-match compatibility requires one single value')];
    case 'exists':
    case '!':
      return values.length === 0
        ? []
        : [invalid('values', values, 'values set must be empty for exists and does not exist')];
    case 'gt':
    case 'lt':
      return comparisonErrors(values);
  }
}

function comparisonErrors(values: readonly string[]): FieldError[] {
  const count =
    values.length === 1 ? [] : [invalid('values', values, "for 'Gt', 'Lt' operators, exactly one value is required")];
  const numbers = values.flatMap((value, index) =>
    parseInteger(value) === undefined
      ? [invalid(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer")]
      : [],
  );
  return [...count, ...numbers];
}

/** Formats one error as it is, and several in brackets without duplicates. */
export function aggregate(errors: readonly FieldError[]): string {
  const messages = [...new Set(errors.map(fieldErrorMessage))];
  return messages.length === 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`;
}

const OBJECT_OPERATORS: ReadonlyMap<string, SelectorOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/** `undefined` and null select nothing, an empty selector everything. Throws SelectorError. */
export function compileLabelSelector(selector: LabelSelectorObject | null | undefined): LabelSelectorMatcher {
  if (selector === undefined || selector === null) return NOTHING;
  const pairs = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => compareText(a, b));
  const requirements = pairs.map(([key, value]) => createRequirement(key, '=', [value]));
  for (const expression of selector.matchExpressions ?? []) {
    const operator = OBJECT_OPERATORS.get(expression.operator);
    if (operator === undefined) {
      throw new SelectorError(`${JSON.stringify(expression.operator)} is not a valid label selector operator`);
    }
    requirements.push(createRequirement(expression.key, operator, expression.values ?? []));
  }
  return requirements.length === 0 ? EVERYTHING : compileRequirements(requirements);
}

/** Equality with every pair (a Service's selector, `nodeSelector`): no validation, an empty map selects everything. */
export function compileLabelMap(labels: Labels): LabelSelectorMatcher {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return EVERYTHING;
  return compileRequirements(pairs.map(([key, value]) => ({ key, operator: '=', values: [value] })));
}

/** For tables: `<none>` for an empty selector, `<error>` for a bad one. */
export function formatLabelSelector(selector: LabelSelectorObject | null | undefined): string {
  try {
    const { text } = compileLabelSelector(selector);
    return text === '' ? '<none>' : text;
  } catch (error) {
    if (error instanceof SelectorError) return '<error>';
    throw error;
  }
}
