import { deepEqual, isJsonArray, isJsonObject, type Json, type JsonObject } from '@holdfast/machinery';
import type { Parts } from '../turns/parts.ts';
import { copyParameter, copyPathItem, type Renames } from './foreign-operations.ts';
import { copySchema } from './foreign-schemas.ts';
import type { ForeignPart } from './foreign-version-2.ts';

const KINDS = 'x-kubernetes-group-version-kind';

/** The document with the parts, which are JSON texts: parsed one after the other, so that the values of one alone are in memory. */
export function* withForeignParts(
  document: Parts<unknown>,
  parts: readonly { readonly json: Uint8Array }[],
): Parts<unknown> {
  const own = yield* document;
  return parts.length === 0 ? own : yield* mergeOpenApi2(own as JsonObject, parsed(parts));
}

function* parsed(parts: readonly { readonly json: Uint8Array }[]): Iterable<ForeignPart> {
  for (const { json } of parts) yield JSON.parse(new TextDecoder().decode(json)) as ForeignPart;
}

/**
 * Adds the parts of other servers to the document. Existing content stays, except the kinds of a definition. Existing
 * paths are skipped, and a different definition under an existing name gets the suffix `_v2`, `_v3`, ...
 */
export function* mergeOpenApi2(document: JsonObject, parts: Iterable<ForeignPart>): Parts<JsonObject> {
  const paths = new Map(Object.entries(document['paths'] ?? {}));
  const definitions = new Map(Object.entries(document['definitions'] ?? {}));
  const parameters = new Map(Object.entries(document['parameters'] ?? {}));
  for (const part of parts) {
    const names = { definitions: newNames(definitions, part.definitions), parameters: new Map<string, string>() };
    const renames: Renames = {
      definition: (name) => names.definitions.get(name) ?? name,
      parameter: (name) => names.parameters.get(name) ?? name,
    };
    yield;
    for (const [name, schema] of Object.entries(part.definitions)) {
      addDefinition(definitions, renames.definition(name), copySchema(schema, renames.definition));
      yield;
    }
    const shared = Object.entries(part.parameters).map(
      ([name, parameter]) => [name, copyParameter(parameter, renames) ?? {}] as const,
    );
    names.parameters = newNames(parameters, Object.fromEntries(shared));
    for (const [name, parameter] of shared) parameters.set(renames.parameter(name), parameter);
    for (const [path, item] of Object.entries(part.paths)) {
      if (!paths.has(path)) paths.set(path, copyPathItem(item, renames));
      yield;
    }
  }
  return {
    ...document,
    paths: Object.fromEntries(paths),
    definitions: Object.fromEntries(definitions),
    parameters: Object.fromEntries(parameters),
  };
}

/** The names of those that may not keep theirs, as another thing has it. */
function newNames(known: ReadonlyMap<string, Json>, added: JsonObject): Map<string, string> {
  const renames = new Map<string, string>();
  const taken = new Set<string>();
  for (const [name, value] of Object.entries(added)) {
    const fits = (candidate: string): boolean => {
      const holder = known.get(candidate);
      return holder !== undefined && isSameBesidesKinds(holder, value);
    };
    if (!known.has(name) || fits(name)) continue;
    const isFree = (candidate: string): boolean =>
      !known.has(candidate) && !taken.has(candidate) && !Object.hasOwn(added, candidate);
    let number = 2;
    while (!fits(`${name}_v${number}`) && !isFree(`${name}_v${number}`)) number += 1;
    renames.set(name, `${name}_v${number}`);
    taken.add(`${name}_v${number}`);
  }
  return renames;
}

function addDefinition(definitions: Map<string, Json>, name: string, schema: JsonObject): void {
  const known = definitions.get(name);
  if (!isJsonObject(known)) {
    definitions.set(name, schema);
    return;
  }
  const kinds = new Map(kindsOf(known).map((kind) => [kindText(kind), kind]));
  const added = kindsOf(schema).filter((kind) => isKind(kind) && !kinds.has(kindText(kind)));
  for (const kind of added) kinds.set(kindText(kind), kind);
  if (added.length > 0) definitions.set(name, { ...known, [KINDS]: [...kinds.values()] });
}

/** Comparing each kind with all others would take minutes for a document with very many. */
const kindText = (kind: Json): string =>
  isKind(kind) ? JSON.stringify([kind['group'], kind['version'], kind['kind']]) : JSON.stringify(kind);

const isKind = (kind: Json): kind is JsonObject => isJsonObject(kind) && typeof kind['kind'] === 'string';

function kindsOf(schema: JsonObject): readonly Json[] {
  const kinds = schema[KINDS];
  return isJsonArray(kinds) ? kinds : [];
}

function isSameBesidesKinds(a: Json, b: Json): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return deepEqual(a, b);
  const { [KINDS]: _, ...ofA } = a;
  const { [KINDS]: __, ...ofB } = b;
  return deepEqual(ofA, ofB);
}
