import { type Change, StoreFull, type StoreLimits, type StoreUsage, type WriteRoom } from '../port.ts';
import { STATE_OVERHEAD_BYTES, sizeOfChange, sizeOfState } from './change-size.ts';

/** What the changes of a write add: to the objects, which may become smaller, and to the history. */
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

/** How far a write of this room may fill the store. */
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
 * Pure: why a store of this size does not take the write; nothing when it does. What only deletes always passes: its tombstones are all
 * that it adds, and history goes by itself. What makes the objects smaller may use the part of the reserve that is there for releasing.
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

/** More than the write can add, without a look at its texts: no unit of a text takes more than three bytes. */
function mostOf(changes: readonly Change[]): number {
  let units = 0;
  for (const { key, value } of changes) units += key.length + value.length;
  return 2 * (3 * units + changes.length * STATE_OVERHEAD_BYTES);
}

/** From here on history makes room for objects. */
const PRESSED_FROM = 0.85;
/** Followers always find so much of the limit. */
const HISTORY_LEAST = 0.05;

/** How large the history may be beside so many bytes of objects: what is needed for objects, history gives up. Pure. */
export function historyRoom(limits: StoreLimits | undefined, objectBytes: number, most: number): number {
  if (limits === undefined) return most;
  const { bytes } = limits;
  return Math.floor(Math.min(most, Math.max(leastHistory(limits), bytes * PRESSED_FROM - objectBytes)));
}

/** As little history as there may be: what is kept when a write finds no room. Pure. */
export const leastHistory = ({ bytes }: StoreLimits): number => Math.floor(bytes * HISTORY_LEAST);

/** True when history is larger than it may be, and the store so full that this cannot wait. Pure. */
export function isPressed(limits: StoreLimits | undefined, usage: StoreUsage): boolean {
  if (limits === undefined || totalOf(usage) <= limits.bytes * PRESSED_FROM) return false;
  return usage.historyBytes > historyRoom(limits, usage.objectBytes, Number.POSITIVE_INFINITY);
}

/** What everybody should know about a store that is nearly full; nothing otherwise. Pure. */
export function roomCautions({ objectBytes, historyBytes, limits }: StoreUsage): readonly string[] {
  const total = objectBytes + historyBytes;
  if (limits === undefined || total <= limits.bytes * ALARM_FROM) return [];
  const state = total >= limits.bytes ? 'full' : 'nearly full';
  return [
    `the store is ${state}: ${total} of ${limits.bytes} bytes are used, ${historyBytes} of them by history; delete objects or raise --store-limit-mb`,
  ];
}

const ALARM_FROM = 0.95;
