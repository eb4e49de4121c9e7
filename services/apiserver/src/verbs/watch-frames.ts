import { INITIAL_EVENTS_END_ANNOTATION, type KubeObject, type ResourceDefinition } from '@holdfast/api';
import type { WatchEvent, WatchFrame } from '@holdfast/client';
import { partialObjectMetadata, StatusError, type TableCell } from '@holdfast/machinery';
import { objectFrame, plainFrame, type WatchType } from '../cache/cache-event.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { type RenderFrame, shareFrame } from '../cache/watcher.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { includeObject, shapeVersionOf, type TableContent, tableFor } from '../http/object-answer.ts';
import { encoder, objectInProtobuf } from '../http/protobuf.ts';
import { groupVersion, listKindOf } from '../objects/object-keys.ts';
import { asServed } from '../objects/stored-object.ts';

/** The representation of watched objects for this client. */
export interface Rendering {
  readonly change: RenderFrame;
  readonly bookmark: (mark: Mark) => WatchFrame;
}

export interface Mark {
  readonly revision: number;
  /** The end of the initial state, which the client requested. */
  readonly endsInitial: boolean;
  readonly annotations: Readonly<Record<string, string>>;
}

export function renderingFor(core: Core, context: ResourceContext, definition: ResourceDefinition): Rendering {
  const { shape } = context.representation;
  if (shape === 'table') return tableRendering(core, context, definition);
  if (shape === 'object') {
    return {
      change: objectRenderer(context, definition),
      bookmark: (mark) => valueFrame(context, { type: 'BOOKMARK', object: markedObject(context, definition, mark) }),
    };
  }
  const partial = (type: WatchEvent['type'], object: object): WatchFrame =>
    valueFrame(context, { type, object: partialObjectMetadata(object, shapeVersionOf(context)) });
  return {
    change: sharedAmong(core, context, definition, (type, object) => ({
      form: '',
      make: () => partial(type, asServed(definition, object).object),
    })),
    bookmark: (mark) => partial('BOOKMARK', markedObject(context, definition, mark)),
  };
}

/** Clients that want tables know no other kind. */
function tableRendering(core: Core, context: ResourceContext, definition: ResourceDefinition): Rendering {
  const blank = withBlankCells(definition);
  const include = includeObject(context.request.query.get('includeObject'));
  let hasColumns = false;
  const firstColumns = (): boolean => {
    const isFirst = !hasColumns;
    hasColumns = true;
    return isFirst;
  };
  const framed = (type: WatchEvent['type'], kind: ResourceDefinition, row: Row, withColumns: boolean): WatchFrame => {
    const metadata = { resourceVersion: row.object.metadata.resourceVersion ?? '' };
    const object = tableFor(core, context, kind, { objects: [row], metadata, withoutColumns: !withColumns });
    return valueFrame(context, { type, object });
  };
  return {
    change: sharedAmong(core, context, definition, (type, object) => {
      const withColumns = firstColumns();
      return {
        // Cells tell ages, which change with the second.
        form: `${include} ${withColumns} ${Math.floor(core.clock.now() / 1000)}`,
        make: () => framed(type, definition, asServed(definition, object), withColumns),
      };
    }),
    bookmark: (mark) => framed('BOOKMARK', blank, { object: markedObject(context, definition, mark) }, firstColumns()),
  };
}

type Row = TableContent['objects'][number];

/** How one watcher wants a change; equal forms of a shape have equal frames. */
type Compose = (type: WatchType, object: CachedObject) => { readonly form: string; readonly make: () => WatchFrame };

function sharedAmong(
  { sharedFrames }: Core,
  { representation }: ResourceContext,
  definition: ResourceDefinition,
  compose: Compose,
): RenderFrame {
  const { shape, shapeVersion, encoding } = representation;
  return (type, object, event) => {
    const { form, make } = compose(type, object);
    if (event?.current !== object) return make();
    return sharedFrames.frame(
      { event, definition, form: `${type} ${shape} ${shapeVersion} ${encoding} ${form}` },
      make,
    );
  };
}

/** For an object with only metadata. */
function withBlankCells({ rowConditions: _none, ...definition }: ResourceDefinition): ResourceDefinition {
  const columns = definition.columns.map((column) => ({ ...column, cell: () => BLANKS.get(column.type) ?? '' }));
  return { ...definition, columns };
}

const BLANKS: ReadonlyMap<string, TableCell> = new Map<string, TableCell>([
  ['integer', 0],
  ['boolean', false],
]);

/** All watchers of a change share what was encoded, as long as it is shown as it is stored. */
function objectRenderer({ representation }: ResourceContext, definition: ResourceDefinition): RenderFrame {
  const isStored = definition.storedAs === undefined && definition.custom === undefined;
  if (representation.encoding !== 'protobuf') {
    if (isStored) return shareFrame;
    return (type, object, event) => {
      const served = servedOrError(definition, object);
      if (served instanceof StatusError) return plainFrame({ type: 'ERROR', object: served.body });
      return served === object ? shareFrame(type, object, event) : objectFrame(type, served);
    };
  }
  return (type, object, event) => {
    const make = (): WatchFrame => protobufFrame(type, definition, asServed(definition, object));
    return isStored && event?.current === object ? event.encodedFrame(type, make) : make();
  };
}

/** An object that cannot be converted is replaced by an error. */
function servedOrError(definition: ResourceDefinition, object: CachedObject): CachedObject | StatusError {
  try {
    return asServed(definition, object);
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

function protobufFrame(type: WatchType, definition: ResourceDefinition, object: CachedObject): WatchFrame {
  let bytes: Uint8Array | undefined;
  return {
    bytes: () => (bytes ??= encoder().watchFrame(type, objectInProtobuf(definition, object))),
    value: () => Object.freeze({ type, object: object.object }),
  };
}

/** For values that are not stored objects. */
function valueFrame({ representation }: ResourceContext, event: WatchEvent): WatchFrame {
  const { type, object } = event;
  if (representation.encoding !== 'protobuf' || typeof object !== 'object' || object === null) return plainFrame(event);
  const encoded = encoder().encodeObject(object);
  if (encoded === undefined) return plainFrame(event);
  let bytes: Uint8Array | undefined;
  return { bytes: () => (bytes ??= encoder().watchFrame(type, encoded)), value: () => event };
}

function markedObject(context: ResourceContext, definition: ResourceDefinition, mark: Mark): KubeObject {
  const annotations = { ...mark.annotations, ...(mark.endsInitial ? endOfInitial(context, definition) : {}) };
  const metadata = {
    resourceVersion: String(mark.revision),
    creationTimestamp: null,
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  return { apiVersion: groupVersion(definition), kind: definition.kind, metadata } as unknown as KubeObject;
}

/** Clients that make a list of a watch take its kind from an empty one, in the encoding of a list. */
function endOfInitial(context: ResourceContext, definition: ResourceDefinition): Readonly<Record<string, string>> {
  const end = { [INITIAL_EVENTS_END_ANNOTATION]: 'true' };
  const { shape, encoding } = context.representation;
  // A bookmark in a table has no rows.
  if (shape === 'table') return end;
  const list =
    shape === 'object'
      ? { kind: listKindOf(definition), apiVersion: groupVersion(definition), metadata: {}, items: null }
      : { kind: 'PartialObjectMetadataList', apiVersion: shapeVersionOf(context), metadata: {}, items: null };
  const bytes = encoding === 'protobuf' ? encoder().encodeObject({ ...list, items: [] }) : undefined;
  const text = (bytes ?? Buffer.from(`${JSON.stringify(list)}\n`)).toString('base64');
  return { ...end, 'kubernetes.io/initial-events-list-blueprint': text };
}

export function expiredFrame(context: ResourceContext, revision: number, current: number): WatchFrame {
  const { body } = new StatusError({
    code: 410,
    reason: 'Expired',
    message: `too old resource version: ${revision} (${current})`,
  });
  return valueFrame(context, { type: 'ERROR', object: body });
}
