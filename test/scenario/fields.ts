import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';

/** More is no scenario that a person has written or the hunt has found. */
const TEXT_CHARS_MAX = 1_000_000;
const SHOWN_CHARS = 60;

/** What is wrong with a scenario file, in one sentence that begins with the line and the field. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

/** One place of a YAML text: it knows its line and its name, so that every complaint names them. */
export class Field {
  readonly #node: Node | null | undefined;
  readonly #path: string;
  readonly #lineOf: (offset: number) => number;
  readonly #start: number;

  private constructor(node: Node | null | undefined, path: string, start: number, lineOf: (offset: number) => number) {
    this.#node = node;
    this.#path = path;
    this.#start = node?.range?.[0] ?? start;
    this.#lineOf = lineOf;
  }

  static read(text: string): Field {
    if (text.length > TEXT_CHARS_MAX) throw new ScenarioError(`the file has more than ${TEXT_CHARS_MAX} characters`);
    const lines = new LineCounter();
    const document = parseDocument(text, {
      lineCounter: lines,
      schema: 'core',
      prettyErrors: false,
      logLevel: 'error',
    });
    const lineOf = (offset: number): number => Math.max(1, lines.linePos(offset).line);
    const [mistake] = document.errors;
    if (mistake !== undefined) throw new ScenarioError(`line ${lineOf(mistake.pos[0])}: ${mistake.message}`);
    return new Field(document.contents, '', 0, lineOf);
  }

  get isAbsent(): boolean {
    return this.#node === undefined || this.#node === null || (isScalar(this.#node) && this.#node.value === null);
  }

  fail(what: string): never {
    const name = this.#path === '' ? '' : ` ${this.#path}:`;
    throw new ScenarioError(`line ${this.#lineOf(this.#start)}:${name} ${what}`);
  }

  /** The fields of a map; a key that is not in `known` is refused. An absent map has no fields. */
  map(known: readonly string[]): (key: string) => Field {
    const node = this.#node;
    if (!this.isAbsent && !isMap(node)) this.fail(`${this.#shown()} is not a map of fields`);
    const fields = new Map<string, Field>();
    for (const { key, value } of isMap(node) ? node.items : []) {
      const name = isScalar(key) ? String(key.value) : '';
      const at = (key as Node | null)?.range?.[0] ?? this.#start;
      const field = new Field(value as Node | null, this.#pathOf(name), at, this.#lineOf);
      if (!known.includes(name)) field.#at(at).fail(`there is no such field; the fields here are ${known.join(', ')}`);
      fields.set(name, field);
    }
    return (key) => fields.get(key) ?? new Field(undefined, this.#pathOf(key), this.#start, this.#lineOf);
  }

  list(mostItems: number): readonly Field[] {
    if (this.isAbsent) return [];
    if (!isSeq(this.#node)) this.fail(`${this.#shown()} is not a list`);
    const { items } = this.#node;
    if (items.length > mostItems) this.fail(`it has ${items.length} entries, and ${mostItems} are the limit`);
    return items.map(
      (item, index) => new Field(item as Node | null, `${this.#path}[${index}]`, this.#start, this.#lineOf),
    );
  }

  get isList(): boolean {
    return isSeq(this.#node);
  }

  text(): string {
    const value = this.#scalar();
    return typeof value === 'string' ? value : this.fail(`${this.#shown()} is not a text; write it in quotes`);
  }

  /** As it is written, whatever YAML takes it for. */
  word(): string {
    const value = this.#scalar();
    return typeof value === 'string' || typeof value === 'number'
      ? String(value)
      : this.fail(`${this.#shown()} is not a word`);
  }

  whole(least: number, most: number): number {
    const value = this.#scalar();
    const isFit = typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most;
    return isFit ? value : this.fail(`${this.#shown()} is not a whole number from ${least} to ${most}`);
  }

  flag(): boolean {
    const value = this.#scalar();
    return typeof value === 'boolean' ? value : this.fail(`${this.#shown()} is neither true nor false`);
  }

  #scalar(): unknown {
    if (this.isAbsent) this.fail('it is missing');
    if (isAlias(this.#node)) this.fail('aliases are not used in scenario files; write the value itself');
    return isScalar(this.#node) ? this.#node.value : this.fail('it is a list or a map, and one value is expected');
  }

  #shown(): string {
    if (!isScalar(this.#node)) return isSeq(this.#node) ? 'a list' : isMap(this.#node) ? 'a map' : 'this';
    const text = JSON.stringify(this.#node.value) ?? '';
    return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}...` : text;
  }

  #pathOf(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  #at(start: number): Field {
    return new Field(undefined, this.#path, start, this.#lineOf);
  }
}
