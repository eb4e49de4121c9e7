import { isIPv4, isIPv6 } from 'node:net';
import { invariant } from '@holdfast/platform';

/** The part of DER (ITU-T X.690) that certificates need. */
export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const setOf = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, ...parts);
export const octets = (...parts: readonly Uint8Array[]): Buffer => tagged(0x04, ...parts);
export const utf8Text = (text: string): Buffer => tagged(0x0c, Buffer.from(text));
export const TRUE = tagged(0x01, Uint8Array.of(0xff));

/** Unsigned, in any number of bytes; adds a byte when the first one looks like a sign. */
export const integer = (bytes: Uint8Array): Buffer => tagged(0x02, bytes);

/** The last `unused` bits of the last byte are ignored. */
export const bits = (bytes: Uint8Array, unused = 0): Buffer => tagged(0x03, Uint8Array.of(unused), bytes);

/** A context-specific tag; `constructed` contains other values. */
export const inContext = (tag: number, content: Uint8Array, constructed = false): Buffer =>
  tagged(0x80 | (constructed ? 0x20 : 0) | tag, content);

export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.of(tag), lengthOf(content.length), content]);
}

function lengthOf(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const bytes: number[] = [];
  for (let left = length; left > 0; left >>>= 8) bytes.unshift(left & 0xff);
  return Uint8Array.of(0x80 | bytes.length, ...bytes);
}

/** `1.2.840.10045.4.3.2` */
export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return tagged(0x06, Uint8Array.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): readonly number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** Two-digit years until 2049, as required. `text` is `2026-11-20T12:00:00Z`. */
export function time(text: string): Buffer {
  const digits = text.replace(/[-:T]/g, '');
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

/** Four or sixteen bytes. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  invariant(isIPv6(address), 'a certificate names IP addresses', { address });
  // The notation in a URL has neither dots nor a zone.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return Buffer.from([...left, ...gap, ...right].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Returns the direct members of a constructed value, each with its tag and length. */
export function partsOf(value: Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(value);
  const parts: Buffer[] = [];
  for (let at = contentAt(bytes, 0); at < bytes.length; ) {
    const end = endAt(bytes, at);
    parts.push(bytes.subarray(at, end));
    at = end;
  }
  return parts;
}

function contentAt(bytes: Buffer, at: number): number {
  const length = bytes[at + 1] ?? 0;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}

function endAt(bytes: Buffer, at: number): number {
  const length = bytes[at + 1] ?? 0;
  const start = contentAt(bytes, at);
  return start + (length < 0x80 ? length : bytes.readUIntBE(at + 2, length & 0x7f));
}
