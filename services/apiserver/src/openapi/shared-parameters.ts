import { createHash } from 'node:crypto';
import type { JsonSchema } from './schemas.ts';

/** Older clients look for these where an operation is described, to know what the server can do. */
const LOOKED_FOR: ReadonlySet<unknown> = new Set(['dryRun', 'fieldValidation']);
const GENERAL_BODIES = '#/definitions/io.k8s.apimachinery.';
const HASH_BYTES = 6;

/** Parameters of an OpenAPI 2 document that stand there once and are referred to. */
export class SharedParameters {
  readonly #known = new Map<string, { readonly name: string; readonly parameter: JsonSchema }>();

  /** Returns the parameter, or a reference to it. */
  of(parameter: JsonSchema): JsonSchema {
    if (!isShared(parameter)) return parameter;
    const text = JSON.stringify(parameter);
    const known = this.#known.get(text) ?? { name: sharedName(parameter, text), parameter };
    this.#known.set(text, known);
    return { $ref: `#/parameters/${known.name}` };
  }

  /** By name, in alphabetical order. */
  all(): Readonly<Record<string, JsonSchema>> {
    const entries = [...this.#known.values()].map(({ name, parameter }) => [name, parameter] as const);
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

function isShared({ name, in: place, schema }: JsonSchema): boolean {
  if (place === 'body') return JSON.stringify(schema).includes(GENERAL_BODIES);
  return name !== 'name' && !LOOKED_FOR.has(name);
}

/** Distinguishes different parameters of one name. */
const sharedName = ({ name }: JsonSchema, text: string): string =>
  `${String(name)}-${createHash('sha256').update(text).digest().subarray(0, HASH_BYTES).toString('base64url')}`;
