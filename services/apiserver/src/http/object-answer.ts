import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  badRequest,
  buildTable,
  type FormVersion,
  type IncludeObject,
  partialObjectMetadata,
  type Table,
} from '@holdfast/machinery';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import { jsonAnswer, textAnswer } from './answers.ts';
import type { ResourceContext } from './context.ts';
import { otherShape } from './negotiation.ts';
import { protobufAnswer, protobufObjectAnswer } from './protobuf.ts';
import { stringifyYaml } from './yaml.ts';

/** One object in the requested representation. */
export function objectAnswer(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  result: { readonly status: number; readonly object: CachedObject },
): ApiResponse {
  const { status, object } = result;
  const { representation } = context;
  switch (representation.shape) {
    case 'table': {
      const metadata = { resourceVersion: String(object.revision) };
      return valueAnswer(context, status, tableFor(core, context, definition, { objects: [object], metadata }));
    }
    case 'partial':
      return valueAnswer(context, status, partialObjectMetadata(object.object, shapeVersionOf(context)));
    case 'partial list':
      throw otherShape('PartialObjectMetadataList', definition);
    case 'object':
      if (representation.encoding === 'yaml') return valueAnswer(context, status, object.object);
      if (representation.encoding === 'protobuf') return protobufObjectAnswer(status, definition, object);
      return {
        status,
        headers: { 'content-type': 'application/json' },
        body: { kind: 'json', bytes: () => object.bytes, value: () => object.object },
      };
  }
}

/** The requested version of tables and partial objects. */
export const shapeVersionOf = ({ representation }: ResourceContext): FormVersion =>
  `meta.k8s.io/${representation.shapeVersion}`;

export function valueAnswer(context: ResourceContext, status: number, value: unknown): ApiResponse {
  const { encoding, contentType } = context.representation;
  if (encoding === 'yaml') return textAnswer(status, stringifyYaml(value), contentType);
  if (encoding === 'protobuf') return protobufAnswer(status, value);
  return jsonAnswer(status, value, contentType);
}

export interface TableContent {
  readonly objects: readonly Pick<CachedObject, 'object'>[];
  readonly metadata: Table['metadata'];
  /** Only the first table of a watch carries the columns. */
  readonly withoutColumns?: boolean;
}

/** The table for `kubectl get`: the server decides the columns. */
export function tableFor(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  content: TableContent,
): Table {
  const objects = content.objects.map((each) => each.object);
  const table = buildTable({
    objects,
    columns: definition.columns,
    metadata: content.metadata,
    include: includeObject(context.request.query.get('includeObject')),
    now: core.clock.now(),
    withoutColumns: content.withoutColumns ?? false,
    apiVersion: shapeVersionOf(context),
  });
  const { rowConditions } = definition;
  if (rowConditions === undefined) return table;
  const rows = table.rows.map((row, i) => withConditions(row, objects[i], rowConditions));
  return { ...table, rows };
}

type RowConditions = NonNullable<ResourceDefinition['rowConditions']>;

function withConditions<R>(row: R, object: KubeObject | undefined, read: RowConditions): R {
  const conditions = object === undefined ? [] : read(object);
  return conditions.length === 0 ? row : { ...row, conditions };
}

export function includeObject(text: string | null): IncludeObject {
  if (text === null || text === '') return 'Metadata';
  if (text === 'None' || text === 'Object' || text === 'Metadata') return text;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}
