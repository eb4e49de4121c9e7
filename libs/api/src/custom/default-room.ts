import { copyJson, isJsonArray, isJsonObject, type Json } from '@holdfast/machinery';
import { CHARS_PER_DEFAULT_VALUE, DEFAULTS_SIZE_MAX } from './limits.ts';
import type { SchemaNode } from './schema-node.ts';

/** What one object may still get from the defaults of its schema. */
export class DefaultRoom {
  #left = DEFAULTS_SIZE_MAX;

  get isExceeded(): boolean {
    return this.#left < 0;
  }

  /** Returns a copy of the default. Nothing more is copied when there is no room for it. */
  copyOf({ default: value = null, defaultSize: size }: SchemaNode): Json | undefined {
    this.#left -= size;
    return this.isExceeded ? undefined : copyJson(value);
  }
}

export function defaultSize(value: Json | undefined): number {
  if (value === undefined) return 0;
  return JSON.stringify(value).length + valuesIn(value) * CHARS_PER_DEFAULT_VALUE;
}

function valuesIn(value: Json): number {
  if (!isJsonArray(value) && !isJsonObject(value)) return 1;
  return Object.values(value).reduce<number>((sum, child) => sum + valuesIn(child), 1);
}
