import type { ForgetfulNode } from './forgetful-files.ts';

// Numbers and sizes of the kernel's include/uapi/linux/fuse.h, version 7.31.

export const IN_HEADER_BYTES = 40;
const OUT_HEADER_BYTES = 16;
const ATTRIBUTE_BYTES = 88;
const S_IFDIR = 0o040_000;
const S_IFREG = 0o100_000;
const BLOCK = 4_096;

export const ERRNO = {
  ENOENT: 2,
  EEXIST: 17,
  ENOTDIR: 20,
  EINVAL: 22,
  ENOSPC: 28,
  EROFS: 30,
  ENOSYS: 38,
  ENOTEMPTY: 39,
} as const;

/** What the kernel asks. */
export interface FuseRequest {
  readonly opcode: number;
  readonly unique: bigint;
  readonly node: number;
  readonly body: Buffer;
}

export function decodeRequest(message: Buffer): FuseRequest {
  return {
    opcode: message.readUInt32LE(4),
    unique: message.readBigUInt64LE(8),
    node: Number(message.readBigUInt64LE(16)),
    body: message.subarray(IN_HEADER_BYTES, message.readUInt32LE(0)),
  };
}

export function encodeReply(unique: bigint, result: Buffer | number): Buffer {
  const body = typeof result === 'number' ? Buffer.alloc(0) : result;
  const header = Buffer.alloc(OUT_HEADER_BYTES);
  header.writeUInt32LE(OUT_HEADER_BYTES + body.length, 0);
  header.writeInt32LE(typeof result === 'number' ? -result : 0, 4);
  header.writeBigUInt64LE(unique, 8);
  return Buffer.concat([header, body]);
}

/** Texts that end with a zero. */
export function names(body: Buffer, from: number): readonly string[] {
  return body.toString('utf8', from).split('\0').slice(0, -1);
}

export function modeOf({ mode, isFolder }: ForgetfulNode): number {
  return (mode & 0o7777) | (isFolder ? S_IFDIR : S_IFREG);
}

function writeAttributes(target: Buffer, at: number, node: ForgetfulNode): void {
  target.writeBigUInt64LE(BigInt(node.id), at);
  target.writeBigUInt64LE(BigInt(node.size), at + 8);
  target.writeBigUInt64LE(BigInt(Math.ceil(node.size / 512)), at + 16);
  target.writeUInt32LE(modeOf(node), at + 60);
  target.writeUInt32LE(Math.max(node.links, 1), at + 64);
  target.writeUInt32LE(BLOCK, at + 80);
}

/** Nothing may be kept by the kernel: every time in it is zero. */
export function attributes(node: ForgetfulNode): Buffer {
  const reply = Buffer.alloc(16 + ATTRIBUTE_BYTES);
  writeAttributes(reply, 16, node);
  return reply;
}

export function entry(node: ForgetfulNode): Buffer {
  const reply = Buffer.alloc(40 + ATTRIBUTE_BYTES);
  reply.writeBigUInt64LE(BigInt(node.id), 0);
  writeAttributes(reply, 40, node);
  return reply;
}

/** The file is known by its node: handles are not needed. */
export const opened = (): Buffer => Buffer.alloc(16);

export function greeting(): Buffer {
  const reply = Buffer.alloc(64);
  reply.writeUInt32LE(7, 0);
  reply.writeUInt32LE(31, 4);
  reply.writeUInt32LE(128 * 1024, 8);
  reply.writeUInt32LE(BIG_WRITES, 12);
  reply.writeUInt16LE(16, 16);
  reply.writeUInt16LE(12, 18);
  reply.writeUInt32LE(WRITE_BYTES_MAX, 20);
  reply.writeUInt32LE(1, 24);
  return reply;
}
const BIG_WRITES = 1 << 5;
export const WRITE_BYTES_MAX = 128 * 1024;

export function written(bytes: number): Buffer {
  const reply = Buffer.alloc(8);
  reply.writeUInt32LE(bytes, 0);
  return reply;
}

/** A file system with much room. */
export function room(): Buffer {
  const reply = Buffer.alloc(80);
  for (const at of [0, 8, 16, 24, 32]) reply.writeBigUInt64LE(1_000_000n, at);
  reply.writeUInt32LE(BLOCK, 40);
  reply.writeUInt32LE(255, 44);
  reply.writeUInt32LE(BLOCK, 48);
  return reply;
}

/** Entries behind an offset, as many as fit. */
export function folderPage(folder: ForgetfulNode, offset: number, bytesMax: number): Buffer {
  const parts: Buffer[] = [];
  let bytes = 0;
  const all = [['.', folder] as const, ['..', folder] as const, ...folder.children];
  for (const [index, [name, node]] of all.entries()) {
    if (index < offset) continue;
    const text = Buffer.from(name);
    const part = Buffer.alloc(8 * Math.ceil((24 + text.length) / 8));
    part.writeBigUInt64LE(BigInt(node.id), 0);
    part.writeBigUInt64LE(BigInt(index + 1), 8);
    part.writeUInt32LE(text.length, 16);
    part.writeUInt32LE(modeOf(node) >> 12, 20);
    text.copy(part, 24);
    if (bytes + part.length > bytesMax) break;
    bytes += part.length;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
