import type { KubeObject, ResourceRef } from '@holdfast/api';
import type { ChangeEvent, Heartbeat } from '@holdfast/bus';
import { deepFreeze } from '@holdfast/machinery';
import { decodeObject } from '../decode.ts';

export interface DecodedChange<T> {
  readonly type: ChangeEvent['type'];
  readonly object: T | undefined;
  readonly movedTo: string | undefined;
}

/** The publisher is one of us: a message that is not a change event is our own bug and fails loudly. */
export function decodeChange<T extends KubeObject>(resource: ResourceRef<T>, data: string): DecodedChange<T> {
  const event = JSON.parse(data) as ChangeEvent;
  return {
    type: event.type,
    object: event.object === undefined ? undefined : deepFreeze(decodeObject(resource, event.object)),
    movedTo: event.movedTo,
  };
}

export function decodeHeartbeat(data: string): Heartbeat {
  return JSON.parse(data) as Heartbeat;
}
