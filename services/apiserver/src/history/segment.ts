import { promisify } from 'node:util';
import { constants, crc32, zstdCompress, zstdDecompress } from 'node:zlib';
import type { Revision } from '@holdfast/store';
import { HISTORY_BLOCK_BYTES_MAX } from '../limits.ts';
import { prefixOf } from './prefix.ts';
import type { Author, HistoryBatch, HistoryRecord } from './record.ts';
import { readRecords, writeRecords } from './record-text.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The compressed records of one resource. */
interface Block {
  readonly at: number;
  readonly length: number;
  readonly crc: number;
}

/** What is known of a segment without reading its blocks. */
export interface SegmentHead {
  readonly from: Revision;
  readonly last: Revision;
  readonly beganAt: number;
  readonly endedAt: number;
  /** Names the history of a store: see `History`. */
  readonly lineage: string;
  /** By the prefix of their keys. */
  readonly blocks: ReadonlyMap<string, Block>;
  readonly authors: readonly Author[];
}

/** The head is behind eight bytes: its length and its checksum. Then come the blocks. */
const LENGTHS_BYTES = 8;
const FORMAT = 'holdfast history 1';
/** The head names each resource once and each author once. */
const HEAD_BYTES_MAX = 16 * 1024 * 1024;

export class DamagedSegment extends Error {
  override readonly name = 'DamagedSegment';
}

/** Compresses on other threads; what is left here is to put the texts behind each other. */
export async function encodeSegment(batch: HistoryBatch, lineage: string): Promise<Buffer> {
  const authors: Author[] = [];
  const texts = [...byPrefix(batch.records)].map(
    ([prefix, records]) => [prefix, writeRecords(records, batch.beganAt, authors)] as const,
  );
  const params = { [constants.ZSTD_c_compressionLevel]: COMPRESSION_LEVEL };
  const blocks = new Map<string, Block>();
  const parts: Buffer[] = [];
  let at = 0;
  for (const [prefix, text] of texts) {
    const bytes = await compress(text, { params });
    blocks.set(prefix, { at, length: bytes.length, crc: crc32(bytes) });
    parts.push(bytes);
    at += bytes.length;
  }
  const { from, last, beganAt, endedAt } = batch;
  const head = Buffer.from(
    JSON.stringify({ format: FORMAT, from, last, beganAt, endedAt, lineage, blocks: [...blocks], authors }),
  );
  const lengths = Buffer.alloc(LENGTHS_BYTES);
  lengths.writeUInt32LE(head.length, 0);
  lengths.writeUInt32LE(crc32(head), 4);
  return Buffer.concat([lengths, head, ...parts]);
}

/** Fast: the texts of one resource differ little, so more effort gains little. */
const COMPRESSION_LEVEL = 1;

interface WrittenHead extends Omit<SegmentHead, 'blocks'> {
  readonly format: string;
  readonly blocks: readonly (readonly [string, Block])[];
}

/** Reads a part of a segment. */
export type ReadPart = (at: number, length: number) => Promise<Buffer>;

export interface ReadHead {
  readonly head: SegmentHead;
  /** Where the blocks begin. */
  readonly blocksAt: number;
}

/** Throws `DamagedSegment`. */
export async function readHead(read: ReadPart): Promise<ReadHead> {
  const lengths = await read(0, LENGTHS_BYTES);
  if (lengths.length < LENGTHS_BYTES) throw new DamagedSegment('it ends in its head');
  const length = lengths.readUInt32LE(0);
  if (length > HEAD_BYTES_MAX) throw new DamagedSegment('its head is no head');
  const bytes = await read(LENGTHS_BYTES, length);
  if (bytes.length !== length || crc32(bytes) !== lengths.readUInt32LE(4))
    throw new DamagedSegment('the checksum of its head is wrong');
  const head = JSON.parse(bytes.toString()) as WrittenHead;
  if (head.format !== FORMAT) throw new DamagedSegment('it is of another version');
  return { head: { ...head, blocks: new Map(head.blocks) }, blocksAt: LENGTHS_BYTES + length };
}

/** The records of one resource, oldest first. Throws `DamagedSegment`. */
export async function readBlock(
  { head, blocksAt }: ReadHead,
  prefix: string,
  read: ReadPart,
): Promise<HistoryRecord[]> {
  const block = head.blocks.get(prefix);
  if (block === undefined) return [];
  const bytes = await read(blocksAt + block.at, block.length);
  if (bytes.length !== block.length || crc32(bytes) !== block.crc) throw new DamagedSegment('a checksum is wrong');
  const text = await decompress(bytes, { maxOutputLength: HISTORY_BLOCK_BYTES_MAX });
  return readRecords(text, { prefix, beganAt: head.beganAt, authors: head.authors });
}

function byPrefix(records: readonly HistoryRecord[]): ReadonlyMap<string, readonly HistoryRecord[]> {
  const found = new Map<string, HistoryRecord[]>();
  for (const record of records) {
    const prefix = prefixOf(record.key);
    const same = found.get(prefix);
    if (same === undefined) found.set(prefix, [record]);
    else same.push(record);
  }
  return found;
}
