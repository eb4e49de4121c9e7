import { SelectorError } from './selectors.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A compiled field selector. */
export interface FieldSelectorMatcher {
  readonly requirements: readonly FieldRequirement[];
  /** True when it matches everything. */
  readonly empty: boolean;
  readonly matches: (valueOf: (field: string) => string) => boolean;
  /** Returns the value of a field that the selector requires: `metadata.name=web`. */
  readonly requiredValue: (field: string) => string | undefined;
  readonly text: string;
}

export function compileFieldRequirements(requirements: readonly FieldRequirement[]): FieldSelectorMatcher {
  const fields = [...byField(requirements)];
  const isNever = fields.some(([, { wanted }]) => wanted.size > 1);
  const first = new Map(fields.map(([field, { wanted }]) => [field, [...wanted][0]]));
  let text: string | undefined;
  return Object.freeze({
    requirements,
    empty: requirements.length === 0,
    // Reads each field once, however many requirements name it.
    matches: (valueOf: (field: string) => string) => !isNever && fields.every((each) => accepts(each, valueOf)),
    requiredValue: (field: string) => first.get(field),
    get text() {
      return (text ??= requirements.map((r) => `${r.field}${r.operator}${escapeValue(r.value)}`).join(','));
    },
  });
}

interface FieldTest {
  readonly wanted: Set<string>;
  readonly refused: Set<string>;
}

function byField(requirements: readonly FieldRequirement[]): ReadonlyMap<string, FieldTest> {
  const tests = new Map<string, FieldTest>();
  for (const { field, operator, value } of requirements) {
    const test = tests.get(field) ?? { wanted: new Set(), refused: new Set() };
    (operator === '=' ? test.wanted : test.refused).add(value);
    tests.set(field, test);
  }
  return tests;
}

function accepts(
  [field, { wanted, refused }]: readonly [string, FieldTest],
  valueOf: (field: string) => string,
): boolean {
  const value = valueOf(field);
  return (wanted.size === 0 || wanted.has(value)) && !refused.has(value);
}

/** Throws SelectorError with the words of Kubernetes' parser. */
export function parseFieldSelector(text: string): FieldSelectorMatcher {
  const terms = splitTerms(text)
    .filter((term) => term !== '')
    .sort((a, b) => (a < b ? -1 : Number(a > b)));
  return compileFieldRequirements(terms.map((term) => parseTerm(term, text)));
}

/** Splits at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

const TERM = /^(.*?)(!=|==|=)(.*)$/s;

function parseTerm(term: string, whole: string): FieldRequirement {
  const match = TERM.exec(term);
  if (match === null) throw new SelectorError(`invalid selector: '${whole}'; can't understand '${term}'`);
  const [, field = '', operator = '', value = ''] = match;
  return { field, operator: operator === '!=' ? '!=' : '=', value: unescapeValue(value) };
}

function unescapeValue(text: string): string {
  return text.replace(/\\(.?)|[,=]/gsu, (found: string, escaped: string | undefined) => {
    if (escaped === undefined) {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${found.codePointAt(0)}`);
    }
    if (escaped === '\\' || escaped === ',' || escaped === '=') return escaped;
    throw new SelectorError(`invalid field selector: invalid escape sequence: ${found}`);
  });
}

const escapeValue = (value: string): string => value.replace(/[\\,=]/g, (found) => `\\${found}`);
