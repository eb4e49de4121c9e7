import { invariant } from '@holdfast/platform';
import { MESSAGES } from '../generated/protobuf.ts';

export interface WireField {
  readonly json: string;
  /** `s` string, `b` boolean, `i` integer, `d` double, `y` bytes, else the name of a message. */
  readonly type: string;
  readonly shape: 'one' | 'list' | 'map';
  /** A zero on the wire is a value: the field is a pointer in Kubernetes, or always printed. */
  readonly keepsZero: boolean;
  /** Pointers are omitted when absent; other fields are written with their zero. */
  readonly isPointer: boolean;
  /** Its fields belong to the parent's JSON object. */
  readonly inline: boolean;
}

export type WireMessage = ReadonlyMap<number, WireField>;

/** Unpacked on first use: a request needs few of the five hundred messages. */
const unpacked = new Map<string, WireMessage>();

export function hasMessage(name: string): boolean {
  return Object.hasOwn(MESSAGES, name);
}

export function messageOf(name: string): WireMessage {
  const known = unpacked.get(name);
  if (known !== undefined) return known;
  const packed = hasMessage(name) ? MESSAGES[name] : undefined;
  invariant(packed !== undefined, 'every message that a table names is in the table', { name });
  const message = new Map(packed.split(' ').filter(Boolean).map(unpackField));
  unpacked.set(name, message);
  return message;
}

function unpackField(packed: string): readonly [number, WireField] {
  const [, number = '', flags = '', json = '', type = ''] = /^(\d+)([*%!=^]*):([^:]*):(.*)$/.exec(packed) ?? [];
  return [
    Number(number),
    {
      json,
      type,
      shape: flags.includes('*') ? 'list' : flags.includes('%') ? 'map' : 'one',
      keepsZero: /[!=]/.test(flags),
      isPointer: flags.includes('!'),
      inline: flags.includes('^'),
    },
  ];
}
