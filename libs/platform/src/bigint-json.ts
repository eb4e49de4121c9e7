/**
 * JSON text for `bigint`. Without it `JSON.stringify` throws on the first one. It is global because every writer of JSON
 * must agree: a program that missed the one helper would fail on an object that a user made.
 */
declare global {
  interface JSON {
    /** An opaque value that `JSON.stringify` writes as this text. */
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

function toJSON(this: bigint): object {
  return JSON.rawJSON(this.toString());
}

Object.defineProperty(BigInt.prototype, 'toJSON', { value: toJSON, writable: true, configurable: true });

export {};
