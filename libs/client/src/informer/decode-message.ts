import type { ResourceRef } from '@holdfast/api';
import type { BusMessage, ChangeEvent, Heartbeat, SharedChange } from '@holdfast/bus';
import { deepFreeze } from '@holdfast/machinery';
import { decodeObject } from '../decode.ts';
import { SHARED_MESSAGE_CHARACTERS_MAX, SHARED_MESSAGES } from '../limits.ts';
import { keyOf } from './object-cache.ts';

/**
 * The latest messages of this process. Several informers of one process get the same change one after the other, so it
 * is parsed once. They share the frozen object.
 */
const recent: Read[] = [];

interface Read {
  readonly data: string;
  readonly resource: ResourceRef;
  readonly change: SharedChange;
}

/** Only our own components publish: a message that is not a change event is a bug and throws. */
export function decodeChange(resource: ResourceRef, { data, revision }: BusMessage): SharedChange {
  if (data.length > SHARED_MESSAGE_CHARACTERS_MAX) return decode(resource, data);
  const slot = revision % SHARED_MESSAGES;
  const known = recent[slot];
  if (known?.data === data && isSameKind(known.resource, resource)) return known.change;
  const change = decode(resource, data);
  recent[slot] = { data, resource, change };
  return change;
}

const isSameKind = (a: ResourceRef, b: ResourceRef): boolean =>
  a.plural === b.plural && a.group === b.group && a.version === b.version;

function decode(resource: ResourceRef, data: string): SharedChange {
  const { type, movedTo, object } = JSON.parse(data) as ChangeEvent;
  if (object === undefined) return { type, movedTo, key: '', hasObject: false, object: () => undefined };
  const decoded = decodeObject(resource, deepFreeze(object));
  return { type, movedTo, key: keyOf(decoded), hasObject: true, object: () => decoded };
}

/** All informers of a process get the same heartbeat one after the other, and there may be thousands. */
export function decodeHeartbeat(data: string): Heartbeat {
  if (beat?.data !== data) beat = { data, heartbeat: JSON.parse(data) as Heartbeat };
  return beat.heartbeat;
}

let beat: { readonly data: string; readonly heartbeat: Heartbeat } | undefined;
