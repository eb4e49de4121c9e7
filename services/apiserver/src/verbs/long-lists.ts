import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { deepFreeze, partialObjectMetadata } from '@holdfast/machinery';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import { textAnswer, textJsonAnswer } from '../http/answers.ts';
import type { ResourceContext } from '../http/context.ts';
import { formVersionOf, type TableContent, tableFor, valueAnswer } from '../http/object-answer.ts';
import { yamlParts } from '../http/yaml-parts.ts';
import { mapInTurns } from '../turns/map-in-turns.ts';

/** Lists that are made anew for each client. A long one is made in turns with others: of objects parts, of texts parts. */

/** Objects whose rows, or partial objects, are made in one go. */
const OBJECTS_AT_ONCE = 25;

interface ListContent {
  readonly objects: readonly CachedObject[];
  readonly metadata: TableContent['metadata'];
}

export async function tableAnswer(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  { objects, metadata }: ListContent,
): Promise<ApiResponse> {
  const tables = await mapInTurns(inTurnsOf(core, context), partsOf(objects), (part) =>
    tableFor(core, context, definition, { objects: part, metadata }),
  );
  const rows = tables.flatMap((table) => table.rows);
  const [first] = tables;
  return membersAnswer(core, context, { ...first, rows: [] }, { name: 'rows', members: rows });
}

export async function partialListAnswer(
  core: Core,
  context: ResourceContext,
  { objects, metadata }: ListContent,
): Promise<ApiResponse> {
  const apiVersion = formVersionOf(context);
  const parts = await mapInTurns(inTurnsOf(core, context), partsOf(objects), (part) =>
    part.map((object) => partialObjectMetadata(object.object, apiVersion)),
  );
  const head = { kind: 'PartialObjectMetadataList', apiVersion, metadata };
  return membersAnswer(core, context, head, { name: 'items', members: parts.flat() });
}

/** A value that may be large, in YAML. */
export async function yamlAnswer(core: Core, context: ResourceContext, value: unknown): Promise<ApiResponse> {
  const parts = await mapInTurns(inTurnsOf(core, context), yamlParts(value), (part) => part);
  return textAnswer(200, parts.join(''), context.representation.contentType);
}

interface Members {
  /** The last member of the whole. */
  readonly name: 'items' | 'rows';
  readonly members: readonly unknown[];
}

async function membersAnswer(
  core: Core,
  context: ResourceContext,
  head: object,
  { name, members }: Members,
): Promise<ApiResponse> {
  const { encoding, contentType } = context.representation;
  const whole = { ...head, [name]: members };
  if (encoding === 'yaml') return yamlAnswer(core, context, whole);
  if (encoding === 'protobuf' || members.length <= OBJECTS_AT_ONCE) return valueAnswer(context, 200, whole);
  const texts = await mapInTurns(inTurnsOf(core, context), members, (member) => JSON.stringify(member));
  const empty = JSON.stringify({ ...head, [name]: [] });
  const text = (): string => `${empty.slice(0, -EMPTY_END.length)}${texts.join(',')}${EMPTY_END}`;
  return textJsonAnswer(200, text, () => deepFreeze(whole), contentType);
}

const EMPTY_END = ']}';

const inTurnsOf = ({ turns }: Core, { user }: ResourceContext) => ({ turns, user });

/** At least one part, so that there is always a first table. */
function* partsOf(objects: readonly CachedObject[]): Generator<readonly CachedObject[]> {
  for (let start = 0; start === 0 || start < objects.length; start += OBJECTS_AT_ONCE) {
    yield objects.slice(start, start + OBJECTS_AT_ONCE);
  }
}
