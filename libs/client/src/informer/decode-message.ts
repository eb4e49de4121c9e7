import type { ResourceRef } from '@holdfast/api';
import type { BusMessage, ChangeEvent, Heartbeat, SharedChange } from '@holdfast/bus';
import { deepFreeze } from '@holdfast/machinery';
import { decodeObject } from '../decode.ts';
import { SHARED_MESSAGE_CHARACTERS_MAX, SHARED_MESSAGES } from '../limits.ts';
import { keyOf } from './object-cache.ts';

/**
 * The last messages of this process. Several informers of one process are told the same change one after the other: the
 * text is read once, and they share the object, which nobody can alter.
 */
const recent: Read[] = [];

interface Read {
  readonly data: string;
  readonly resource: ResourceRef;
  readonly change: SharedChange;
}

/** The publisher is one of us: a message that is not a change event is our own bug and fails loudly. */
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

/** All informers of a process are told the same one after the other, and there may be thousands. */
export function decodeHeartbeat(data: string): Heartbeat {
  if (beat?.data !== data) beat = { data, heartbeat: JSON.parse(data) as Heartbeat };
  return beat.heartbeat;
}

let beat: { readonly data: string; readonly heartbeat: Heartbeat } | undefined;
