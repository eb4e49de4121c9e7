import { type Json, notSupported, sortedJson } from '@holdfast/machinery';

/** The values of an `enum`, so that one is found without a comparison with each. */
export class EnumValues {
  readonly #values: readonly Json[];
  readonly #texts = new Set<string>();
  /** JSON of all values that are no texts. Null is never meant: `nullable` allows it. */
  readonly #others = new Set<string>();
  #told: string | undefined;

  constructor(values: readonly Json[]) {
    this.#values = values;
    for (const value of values) {
      if (typeof value === 'string') this.#texts.add(value);
      else if (value !== null) this.#others.add(sortedJson(value));
    }
  }

  /** Calls `spend` with the characters that it compares. */
  includes(value: Json, spend: (chars: number) => void): boolean {
    if (typeof value === 'string') return this.#texts.has(value);
    if (this.#others.size === 0) return false;
    const json = sortedJson(value);
    spend(json.length);
    return this.#others.has(json);
  }

  /** `supported values: "a", "b"`. All errors share this text. */
  get told(): string {
    this.#told ??= notSupported('', null, this.#values.map(wordOf)).detail;
    return this.#told;
  }
}

const wordOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
