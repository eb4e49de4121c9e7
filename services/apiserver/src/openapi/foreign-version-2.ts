import { isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import type { Parts } from '../turns/parts.ts';
import { copyParameter, copyPathItem, type Renames } from './foreign-operations.ts';
import { copySchema, entriesOf } from './foreign-schemas.ts';

/** The part of another server's OpenAPI 2 document about one group-version. */
export interface ForeignPart {
  readonly paths: JsonObject;
  readonly definitions: JsonObject;
  readonly parameters: JsonObject;
}

/**
 * The paths of the group-version, and the definitions and parameters that they refer to. Throws for a document that clients
 * could not read: merged into the document of this server it would make that one unreadable too.
 */
export function* foreignPart(document: unknown, prefix: string): Parts<ForeignPart> {
  if (!isJsonObject(document) || document['swagger'] !== '2.0')
    throw new Error('the answer is not an OpenAPI 2 document');
  const wanted = new Wanted(document);
  const paths: [string, Json][] = [];
  for (const [path, item] of entriesOf(document['paths'])) {
    if (path.startsWith(prefix)) paths.push([path, copyPathItem(item, wanted.references)]);
    yield;
  }
  const parameters = yield* wanted.parameters();
  const definitions = yield* wanted.definitions();
  return { paths: Object.fromEntries(paths), definitions, parameters };
}

/** Collects what is referred to. */
class Wanted {
  readonly references: Renames;
  readonly #document: JsonObject;
  readonly #definitions = new Set<string>();
  readonly #parameters = new Set<string>();

  constructor(document: JsonObject) {
    this.#document = document;
    this.references = {
      definition: (name) => this.#note(this.#definitions, name),
      parameter: (name) => this.#note(this.#parameters, name),
    };
  }

  #note(names: Set<string>, name: string): string {
    names.add(name);
    return name;
  }

  *parameters(): Parts<JsonObject> {
    const found: [string, Json][] = [];
    // Iterating a set includes entries that are added meanwhile.
    for (const name of this.#parameters) {
      const parameter = copyParameter(this.#find('parameters', name), this.references);
      if (parameter !== undefined && !Object.hasOwn(parameter, '$ref')) found.push([name, parameter]);
      else throw new Error('a shared parameter has a form that clients cannot read');
      yield;
    }
    return Object.fromEntries(found);
  }

  *definitions(): Parts<JsonObject> {
    const found: [string, Json][] = [];
    for (const name of this.#definitions) {
      found.push([name, copySchema(this.#find('definitions', name), this.references.definition)]);
      yield;
    }
    return Object.fromEntries(found);
  }

  #find(kind: 'definitions' | 'parameters', name: string): Json {
    const all = this.#document[kind];
    const found = isJsonObject(all) ? ownValue(all, name) : undefined;
    if (found === undefined) throw new Error('a reference leads to nothing in the document');
    return found;
  }
}
