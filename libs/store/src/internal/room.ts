import { type Change, StoreFull, type StoreLimits, type StoreUsage, type WriteRoom } from '../port.ts';
import { STATE_OVERHEAD_BYTES, sizeOfChange, sizeOfState } from './change-size.ts';

/** The bytes that the changes of a write add to the objects (may be negative) and to the history. */
export interface Growth {
  readonly objects: number;
  readonly history: number;
}

export function growthOf(changes: readonly Change[]): Growth {
  let objects = 0;
  let history = 0;
  for (const change of changes) {
    const size = sizeOfChange(change);
    history += size;
    if (change.kind !== 'deleted') objects += size;
    if (change.previousValue !== undefined) objects -= sizeOfState(change.key, change.previousValue);
  }
  return { objects, history };
}

export const totalOf = ({ objectBytes, historyBytes }: Pick<StoreUsage, 'objectBytes' | 'historyBytes'>): number =>
  objectBytes + historyBytes;

/** Returns how far a write of this room may fill the store. */
export function ceilingOf({ bytes, reserveBytes }: StoreLimits, room: WriteRoom): number {
  switch (room) {
    case 'ordinary':
      return bytes;
    case 'releasing':
      return bytes + Math.floor(reserveBytes / 2);
    case 'system':
      return bytes + reserveBytes;
  }
}

export interface Asking {
  readonly changes: readonly Change[];
  readonly room: WriteRoom;
}

/**
 * Pure: returns the reason why a store of this size rejects the write, or nothing. A write that only deletes always
 * passes: it adds only tombstones, and history shrinks by itself. A write that makes the objects smaller may use the
 * part of the reserve for releasing writes.
 */
export function refusedForRoom(
  limits: StoreLimits | undefined,
  total: number,
  { changes, room }: Asking,
): StoreFull | undefined {
  if (limits === undefined || total + mostOf(changes) <= limits.bytes) return undefined;
  if (changes.every(({ kind }) => kind === 'deleted')) return undefined;
  const { objects, history } = growthOf(changes);
  const widest = room === 'ordinary' && objects <= 0 ? 'releasing' : room;
  return total + objects + history <= ceilingOf(limits, widest) ? undefined : new StoreFull(limits.bytes, total);
}

/** An upper bound of what the write adds, without reading its texts: a UTF-16 code unit takes at most three bytes. */
function mostOf(changes: readonly Change[]): number {
  let units = 0;
  for (const { key, value } of changes) units += key.length + value.length;
  return 2 * (3 * units + changes.length * STATE_OVERHEAD_BYTES);
}

/** Above this fraction of the limit, history shrinks to make room for objects. */
const PRESSED_FROM = 0.85;
/** Followers can always use this fraction of the limit. */
const HISTORY_LEAST = 0.05;

/** Returns the maximum size of the history beside this many bytes of objects: history gives way to objects. Pure. */
export function historyRoom(limits: StoreLimits | undefined, objectBytes: number, most: number): number {
  if (limits === undefined) return most;
  const { bytes } = limits;
  return Math.floor(Math.min(most, Math.max(leastHistory(limits), bytes * PRESSED_FROM - objectBytes)));
}

/** The minimum size of the history, to which it shrinks when a write finds no room. Pure. */
export const leastHistory = ({ bytes }: StoreLimits): number => Math.floor(bytes * HISTORY_LEAST);

/** True when the history exceeds its maximum and the store is too full to wait for maintenance. Pure. */
export function isPressed(limits: StoreLimits | undefined, usage: StoreUsage): boolean {
  if (limits === undefined || totalOf(usage) <= limits.bytes * PRESSED_FROM) return false;
  return usage.historyBytes > historyRoom(limits, usage.objectBytes, Number.POSITIVE_INFINITY);
}

/** Returns warnings about a store that is nearly full. Pure. */
export function roomCautions({ objectBytes, historyBytes, limits }: StoreUsage): readonly string[] {
  const total = objectBytes + historyBytes;
  if (limits === undefined || total <= limits.bytes * ALARM_FROM) return [];
  const state = total >= limits.bytes ? 'full' : 'nearly full';
  return [
    `the store is ${state}: ${total} of ${limits.bytes} bytes are used, ${historyBytes} of them by history; delete objects or raise --store-limit-mb`,
  ];
}

const ALARM_FROM = 0.95;
