import { MAX_ENTRIES, MAX_VALUES, requestEntityTooLarge } from '@holdfast/machinery';

/**
 * Fields that one body may hold on the wire. A Go client also writes the zeros that JSON omits: a schema in a custom
 * resource definition has a dozen of them beside its two or three values.
 */
export const WIRE_FIELDS_MAX = 5 * MAX_VALUES;

/**
 * Counts what one decoding reads, because a field of two bytes becomes an object of a hundred. Throws StatusError 413
 * with the words for a JSON body, whose values are counted before it is parsed.
 */
export class WireCount {
  #left = WIRE_FIELDS_MAX;
  readonly #sizes = new Map<object, number>();

  /** Notes fields, or values of JSON inside a message. */
  spend(fields: number): void {
    this.#left -= fields;
    if (this.#left < 0) throw requestEntityTooLarge(`limit is ${MAX_VALUES} values in one document`);
  }

  /** Notes one more entry of a list or a map. A key that is repeated counts again, as in JSON. */
  addEntry(container: object): void {
    const size = (this.#sizes.get(container) ?? 0) + 1;
    if (size > MAX_ENTRIES) throw requestEntityTooLarge(`limit is ${MAX_ENTRIES} entries in one list or object`);
    this.#sizes.set(container, size);
  }
}
