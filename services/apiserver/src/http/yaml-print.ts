import { isJsonArray, type Json, type JsonObject } from '@holdfast/machinery';

/** Prints what needs no care by itself, and leaves the rest to a printer of YAML that knows every rule and takes twenty times as long. */
export interface CarefulPrinter {
  /** The text of a document. */
  readonly print: (value: unknown) => string;
  /** True for text that would be read as another type without quotes. */
  readonly needsQuotes: (text: string) => boolean;
}

/** Formats as Go does: sorted keys, lists at the indentation of their key. */
export function printYaml(value: Json, careful: CarefulPrinter): string {
  if (!isCollection(value) || isEmpty(value)) return careful.print(value);
  const out: string[] = [];
  new Printer(out, careful).collection(value, 0);
  return out.join('');
}

type Collection = readonly Json[] | JsonObject;

const isCollection = (value: Json): value is Collection => typeof value === 'object' && value !== null;

function isEmpty(value: Collection): boolean {
  if (isJsonArray(value)) return value.length === 0;
  for (const key in value) if (value[key] !== undefined) return false;
  return true;
}

/** Text without YAML meaning and without spaces, at which long lines are folded. */
const IS_PLAIN = /^[\w./](?:[\w./@=+,-]|:(?=[\w/]))*$/;
const SPACES = '  ';

class Printer {
  readonly #out: string[];
  readonly #careful: CarefulPrinter;

  constructor(out: string[], careful: CarefulPrinter) {
    this.#out = out;
    this.#careful = careful;
  }

  /** The first line is not indented: the cursor is at its start. */
  collection(value: Collection, depth: number): void {
    // The careful printer's cost grows with the depth.
    if (depth >= DEEP) this.#carefully(value, depth);
    else if (isJsonArray(value)) this.#items(value, depth);
    else this.#members(value, depth);
  }

  #members(value: JsonObject, depth: number): void {
    let isFirst = true;
    for (const key of Object.keys(value).sort()) {
      const child = value[key];
      if (child === undefined) continue;
      if (!isFirst) this.#out.push(SPACES.repeat(depth));
      isFirst = false;
      this.#member(key, child, depth);
    }
  }

  #member(key: string, value: Json, depth: number): void {
    const name = this.#plainName(key);
    if (name === undefined) return this.#carefully({ [key]: value }, depth);
    if (isCollection(value) && !isEmpty(value)) {
      const isList = isJsonArray(value);
      this.#out.push(name, ':\n', SPACES.repeat(isList ? depth : depth + 1));
      return this.collection(value, isList ? depth : depth + 1);
    }
    const text = this.#plain(value);
    if (text === undefined) this.#carefully({ [key]: value }, depth);
    else this.#out.push(name, ': ', text, '\n');
  }

  #items(values: readonly Json[], depth: number): void {
    for (const [i, value] of values.entries()) {
      if (i > 0) this.#out.push(SPACES.repeat(depth));
      if (isCollection(value) && !isEmpty(value)) {
        this.#out.push('- ');
        this.collection(value, depth + 1);
        continue;
      }
      const text = this.#plain(value);
      if (text === undefined) this.#carefully([value], depth);
      else this.#out.push('- ', text, '\n');
    }
  }

  #plainName(key: string): string | undefined {
    return key.length < LONG ? this.#plainText(key) : undefined;
  }

  /** `undefined`: it takes more care. */
  #plain(value: Json): string | undefined {
    if (typeof value === 'string') return this.#plainText(value);
    if (value === null || typeof value === 'boolean') return String(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'number') return Number.isSafeInteger(value) && value !== 0 ? String(value) : undefined;
    return isJsonArray(value) ? '[]' : '{}';
  }

  #plainText(text: string): string | undefined {
    if (text === '') return '""';
    if (!IS_PLAIN.test(text)) return undefined;
    if (!this.#careful.needsQuotes(text)) return text;
    return text.length < LONG ? `"${text}"` : undefined;
  }

  /** Printed at its real depth: line length and indentation of multi-line text depend on it. */
  #carefully(value: Collection, depth: number): void {
    // A list has the indentation of its key.
    const names = isJsonArray(value) ? depth + 1 : depth;
    let nested: unknown = value;
    for (let i = 0; i < names; i += 1) nested = { a: nested };
    const text = this.#careful.print(nested);
    // Before it stand the names that only lead there, each on a line of its own.
    let start = 0;
    for (let i = 0; i < names; i += 1) start = text.indexOf('\n', start) + 1;
    this.#out.push(text.slice(start + SPACES.length * depth));
  }
}

/** Longer texts between quotes are broken into lines, and longer names are written in another way. */
const LONG = 40;
/** Objects of Kubernetes are not as deep. */
const DEEP = 24;
