import type { ResourceDefinition } from '@holdfast/api';
import type { WatchEvent, WatchFrame } from '@holdfast/client';
import { partialObjectMetadata, StatusError } from '@holdfast/machinery';
import { objectFrame, plainFrame, type WatchType } from '../cache/cache-event.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { type RenderFrame, shareFrame } from '../cache/watcher.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { formVersionOf, tableFor } from '../http/object-answer.ts';
import { encoder, objectInProtobuf } from '../http/protobuf.ts';
import { groupVersion } from '../served.ts';
import { asServed } from '../stored-form.ts';

/** How this client gets changes. */
export function rendererFor(core: Core, context: ResourceContext, definition: ResourceDefinition): RenderFrame {
  const { form } = context.representation;
  const served = (object: CachedObject): CachedObject => asServed(definition, object);
  const apiVersion = formVersionOf(context);
  if (form === 'partial' || form === 'partial list') {
    return (type, object) =>
      valueFrame(context, { type, object: partialObjectMetadata(served(object).object, apiVersion) });
  }
  if (form === 'object') return objectRenderer(context, definition);
  let first = true;
  return (type, object) => {
    const metadata = { resourceVersion: String(object.revision) };
    const table = tableFor(core, context, definition, { objects: [served(object)], metadata, withoutColumns: !first });
    first = false;
    return valueFrame(context, { type, object: table });
  };
}

/** All watchers of a change share what was encoded, as long as it is shown as it is stored. */
function objectRenderer({ representation }: ResourceContext, definition: ResourceDefinition): RenderFrame {
  const isStored = definition.storedAs === undefined;
  if (representation.encoding !== 'protobuf') {
    return isStored ? shareFrame : (type, object) => objectFrame(type, asServed(definition, object));
  }
  return (type, object, event) => {
    const make = (): WatchFrame => protobufFrame(type, definition, asServed(definition, object));
    return isStored && event?.current === object ? event.encodedFrame(type, make) : make();
  };
}

function protobufFrame(type: WatchType, definition: ResourceDefinition, object: CachedObject): WatchFrame {
  let bytes: Uint8Array | undefined;
  return {
    bytes: () => (bytes ??= encoder().watchFrame(type, objectInProtobuf(definition, object))),
    value: () => Object.freeze({ type, object: object.object }),
  };
}

/** Of anything else than a stored object. */
function valueFrame({ representation }: ResourceContext, event: WatchEvent): WatchFrame {
  const { type, object } = event;
  if (representation.encoding !== 'protobuf' || typeof object !== 'object' || object === null) return plainFrame(event);
  const encoded = encoder().encodeObject(object);
  if (encoded === undefined) return plainFrame(event);
  return { bytes: () => encoder().watchFrame(type, encoded), value: () => event };
}

export function bookmark(
  context: ResourceContext,
  definition: ResourceDefinition,
  { revision, endsInitial }: { readonly revision: number; readonly endsInitial: boolean },
): WatchFrame {
  const metadata = {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(endsInitial ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
  };
  const object = { kind: definition.kind, apiVersion: groupVersion(definition), metadata };
  return valueFrame(context, { type: 'BOOKMARK', object: asWatched(context, object) });
}

/** Clients that want nothing but metadata know no other kind, and end a watch that shows them one. */
function asWatched(context: ResourceContext, object: object): object {
  const { form } = context.representation;
  return form === 'partial' || form === 'partial list' ? partialObjectMetadata(object, formVersionOf(context)) : object;
}

export function expiredFrame(context: ResourceContext, revision: number, current: number): WatchFrame {
  const { body } = new StatusError({
    code: 410,
    reason: 'Expired',
    message: `too old resource version: ${revision} (${current})`,
  });
  return valueFrame(context, { type: 'ERROR', object: body });
}
