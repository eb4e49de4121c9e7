import { INEXACT_DIGITS, MAX_JSON_DEPTH, MAX_STRICT_ERRORS } from './limits.ts';

export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

/** Scans a JSON text and finds duplicate keys. Throws the error of Go's decoder. */
export function findDuplicates(text: string): readonly string[] {
  return new Scanner(text, new Set()).scan();
}

/**
 * Returns what strict decoding finds in a JSON text, in text order: duplicate keys and unknown fields, given as
 * `unknown field "spec.foo"`. It does not look inside an unknown field, and counts an unknown field once.
 */
export function findStrictProblems(text: string, unknownFields: readonly string[]): readonly string[] {
  return new Scanner(text, new Set(unknownFields)).scan();
}

/**
 * Returns the numbers with a fraction, an exponent or very many digits as the valid JSON text writes them, by path:
 * `spec.replicas`.
 */
export function findOddNumbers(text: string): ReadonlyMap<string, string> {
  const scanner = new Scanner(text, new Set());
  scanner.scan();
  return scanner.oddNumbers;
}

const LITERALS: ReadonlyMap<string, string> = new Map(Object.entries({ t: 'true', f: 'false', n: 'null' }));
const ESCAPED = new Set('"\\/bfnrtu');
const isDigit = (c: string): boolean => c >= '0' && c <= '9' && c.length === 1;
const isHex = (c: string): boolean => /^[0-9a-fA-F]$/.test(c);

class Scanner {
  readonly oddNumbers = new Map<string, string>();
  readonly #text: string;
  readonly #path: string[] = [];
  readonly #unknownFields: ReadonlySet<string>;
  readonly #problems = new Set<string>();
  #unknownAbove = 0;
  #position = 0;

  constructor(text: string, unknownFields: ReadonlySet<string>) {
    this.#text = text;
    this.#unknownFields = unknownFields;
  }

  scan(): readonly string[] {
    this.#value();
    this.#skipSpace();
    if (this.#position < this.#text.length) this.#fail('after top-level value');
    return [...this.#problems].slice(0, MAX_STRICT_ERRORS);
  }

  /** Returns '' at the end of the text. */
  #peek(): string {
    return this.#text.charAt(this.#position);
  }

  #skipSpace(): void {
    while (this.#position < this.#text.length && ' \t\r\n'.includes(this.#peek())) this.#position += 1;
  }

  #fail(where: string): never {
    const char = this.#peek();
    if (char === '') throw new JsonSyntaxError('unexpected end of JSON input');
    throw new JsonSyntaxError(`invalid character ${quoteCharacter(char)} ${where}`);
  }

  #value(): void {
    this.#skipSpace();
    const char = this.#peek();
    if (char === '{') this.#object();
    else if (char === '[') this.#array();
    else if (char === '"') this.#string();
    else if (char === '-' || isDigit(char)) this.#number();
    else this.#literal(char);
  }

  #enter(segment: string): void {
    if (this.#path.length >= MAX_JSON_DEPTH) throw new JsonSyntaxError('exceeded max depth');
    this.#path.push(segment);
  }

  #object(): void {
    this.#position += 1;
    this.#skipSpace();
    if (this.#closes('}')) return;
    const keys = new Set<string>();
    for (;;) {
      if (this.#peek() !== '"') this.#fail('looking for beginning of object key string');
      const key = this.#string();
      this.#enter(this.#path.length === 0 ? key : `.${key}`);
      const isUnknown = this.#noteField(keys.has(key));
      keys.add(key);
      this.#skipSpace();
      if (!this.#closes(':')) this.#fail('after object key');
      this.#unknownAbove += isUnknown;
      this.#value();
      this.#unknownAbove -= isUnknown;
      this.#path.pop();
      this.#skipSpace();
      if (this.#closes('}')) return;
      if (!this.#closes(',')) this.#fail('after object key:value pair');
      this.#skipSpace();
    }
  }

  /** Returns 1 for a field that the kind does not know. Paths are composed only when needed. */
  #noteField(isTwice: boolean): 0 | 1 {
    if (this.#unknownAbove > 0 || (this.#unknownFields.size === 0 && !isTwice)) return 0;
    const path = this.#path.join('');
    const unknown = `unknown field "${path}"`;
    const isUnknown = this.#unknownFields.has(unknown);
    if (isUnknown) this.#problems.add(unknown);
    else if (isTwice) this.#problems.add(`duplicate field "${path}"`);
    return isUnknown ? 1 : 0;
  }

  #array(): void {
    this.#position += 1;
    this.#skipSpace();
    if (this.#closes(']')) return;
    for (let index = 0; ; index += 1) {
      this.#enter(`[${index}]`);
      this.#value();
      this.#path.pop();
      this.#skipSpace();
      if (this.#closes(']')) return;
      if (!this.#closes(',')) this.#fail('after array element');
    }
  }

  /** Consumes the expected character if it comes next. */
  #closes(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#position += 1;
    return true;
  }

  #string(): string {
    const start = this.#position;
    this.#position += 1;
    for (let char = this.#peek(); char !== '"'; char = this.#peek()) {
      if (char === '' || char < ' ') this.#fail('in string literal');
      this.#position += 1;
      if (char === '\\') this.#escape();
    }
    this.#position += 1;
    return JSON.parse(this.#text.slice(start, this.#position));
  }

  #escape(): void {
    const char = this.#peek();
    if (!ESCAPED.has(char)) this.#fail('in string escape code');
    this.#position += 1;
    if (char !== 'u') return;
    for (let digits = 0; digits < 4; digits += 1) {
      if (!isHex(this.#peek())) this.#fail('in \\u hexadecimal character escape');
      this.#position += 1;
    }
  }

  #number(): void {
    const start = this.#position;
    this.#closes('-');
    if (!this.#closes('0')) this.#digits('in numeric literal');
    const end = this.#position;
    if (this.#closes('.')) this.#digits('after decimal point in numeric literal');
    if (this.#closes('e') || this.#closes('E')) {
      if (!this.#closes('+')) this.#closes('-');
      this.#digits('in exponent of numeric literal');
    }
    if (this.#position === end && end - start < INEXACT_DIGITS) return;
    this.oddNumbers.set(this.#path.join(''), this.#text.slice(start, this.#position));
  }

  #digits(where: string): void {
    if (!isDigit(this.#peek())) this.#fail(where);
    while (isDigit(this.#peek())) this.#position += 1;
  }

  #literal(first: string): void {
    const word = LITERALS.get(first);
    if (word === undefined) this.#fail('looking for beginning of value');
    for (const char of word) {
      if (!this.#closes(char)) this.#fail(`in literal ${word} (expecting ${quoteCharacter(char)})`);
    }
  }
}

/** Go reads bytes: for a multi-byte character it names the first byte. */
function quoteCharacter(char: string): string {
  const byte = Buffer.from(char)[0] ?? 0;
  const named = NAMED.get(byte);
  if (named !== undefined) return `'${named}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${hex(byte, 2)}'`;
  return isPrintable(byte) ? `'${String.fromCharCode(byte)}'` : `'\\u${hex(byte, 4)}'`;
}

const NAMED: ReadonlyMap<number, string> = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x27, "\\'"],
  [0x5c, '\\\\'],
]);

const hex = (byte: number, digits: number): string => byte.toString(16).padStart(digits, '0');

/** True for bytes that are neither control characters nor invisible spaces or hyphens. */
const isPrintable = (byte: number): boolean => byte < 0x7f || (byte > 0xa0 && byte !== 0xad);
