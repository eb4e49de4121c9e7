import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ChangeEvent, Heartbeat } from '@holdfast/bus';
import { deepFreeze } from '@holdfast/machinery';
import { decodeObject } from '../decode.ts';
import { SHARED_MESSAGE_CHARACTERS_MAX, SHARED_MESSAGES } from '../limits.ts';

export interface DecodedChange<T> {
  readonly type: ChangeEvent['type'];
  readonly object: T | undefined;
  readonly movedTo: string | undefined;
}

/**
 * The last messages of this process. Several informers of one process are told the same change one after the other: the
 * text is read once, and they share the object, which nobody can alter.
 */
const recent: Read[] = [];
let oldest = 0;

interface Read {
  readonly data: string;
  readonly resource: ResourceRef;
  readonly change: DecodedChange<KubeObject>;
}

/** The publisher is one of us: a message that is not a change event is our own bug and fails loudly. */
export function decodeChange<T extends KubeObject>(resource: ResourceRef<T>, data: string): DecodedChange<T> {
  if (data.length > SHARED_MESSAGE_CHARACTERS_MAX) return decode(resource, data);
  // Texts that are one and the same are equal at a glance, and others differ in their first characters: no need to hash them.
  const known = recent.find((each) => each.data === data && isSameKind(each.resource, resource));
  if (known !== undefined) return known.change as DecodedChange<T>;
  const change = decode(resource, data);
  recent[oldest] = { data, resource, change };
  oldest = (oldest + 1) % SHARED_MESSAGES;
  return change;
}

const isSameKind = (a: ResourceRef, b: ResourceRef): boolean =>
  a.plural === b.plural && a.group === b.group && a.version === b.version;

function decode<T extends KubeObject>(resource: ResourceRef<T>, data: string): DecodedChange<T> {
  const event = JSON.parse(data) as ChangeEvent;
  return {
    type: event.type,
    object: event.object === undefined ? undefined : decodeObject(resource, deepFreeze(event.object)),
    movedTo: event.movedTo,
  };
}

export function decodeHeartbeat(data: string): Heartbeat {
  return JSON.parse(data) as Heartbeat;
}
