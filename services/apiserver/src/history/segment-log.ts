import { describeError, Fifo, type Log } from '@holdfast/platform';
import type { HistoryBatch, HistoryRecord } from './record.ts';
import { DamagedSegment, encodeSegment, type ReadHead, readBlock, readHead } from './segment.ts';
import type { SegmentStore } from './segment-store.ts';

export interface SegmentLogOptions {
  readonly segments: SegmentStore;
  readonly retentionMs: number;
  readonly limitBytes: number;
  readonly log: Log;
}

export interface Segment extends ReadHead {
  readonly name: string;
  readonly bytes: number;
}

/** What was wanted is no longer kept. */
export class HistoryGone extends Error {
  override readonly name = 'HistoryGone';
}

/** The kept segments: a chain without a gap, oldest first. What breaks it is dropped with everything before. */
export class SegmentLog {
  readonly #options: SegmentLogOptions;
  readonly #chain = new Fifo<Segment>();
  /** A copy for readers, who go on with it while segments come and go. */
  #shown: readonly Segment[] | undefined;
  #bytes = 0;
  /** Grows with `clear`: a segment that was being written then is not kept. */
  #generation = 0;

  constructor(options: SegmentLogOptions) {
    this.#options = options;
  }

  get kept(): readonly Segment[] {
    this.#shown ??= this.#chain.slice(0);
    return this.#shown;
  }

  get newest(): Segment | undefined {
    return this.#chain.at(this.#chain.size - 1);
  }

  get bytes(): number {
    return this.#bytes;
  }

  #add(segment: Segment): void {
    this.#chain.push(segment);
    this.#bytes += segment.bytes;
    this.#shown = undefined;
  }

  /** Never rejects: a history that cannot be read begins anew. */
  async open(lineage: string): Promise<void> {
    try {
      await this.#options.segments.open();
      await this.#readHeads(lineage);
    } catch (error) {
      this.#options.log.warn('the history cannot be read and begins anew', { error: describeError(error) });
      await this.clear();
    }
  }

  async #readHeads(lineage: string): Promise<void> {
    for (const { name, bytes } of await this.#options.segments.list()) {
      const found = await this.#headOf(name);
      const before = this.newest;
      if (found === undefined || found.head.lineage !== lineage) await this.#dropAll([name]);
      else if (before !== undefined && before.head.last !== found.head.from) await this.#dropAll([]);
      if (found !== undefined && found.head.lineage === lineage) this.#add({ name, bytes, ...found });
    }
  }

  async #headOf(name: string): Promise<ReadHead | undefined> {
    try {
      return await readHead((at, length) => this.#options.segments.read(name, at, length));
    } catch (error) {
      this.#tellDamage(name, error);
      return undefined;
    }
  }

  #tellDamage(name: string, error: unknown): void {
    this.#options.log.warn('a segment of the history is damaged; it and everything older is dropped', {
      segment: name,
      error: describeError(error),
    });
  }

  /** True when the batch is kept. */
  async append(batch: HistoryBatch, lineage: string): Promise<boolean> {
    const generation = this.#generation;
    const name = String(batch.from).padStart(NAME_DIGITS, '0');
    const { segments } = this.#options;
    try {
      const bytes = await encodeSegment(batch, lineage);
      await segments.write(name, bytes);
      const head = await readHead(async (at, length) => bytes.subarray(at, at + length));
      if (generation === this.#generation) {
        this.#add({ name, bytes: bytes.length, ...head });
        return true;
      }
      await segments.remove(name);
    } catch (error) {
      this.#options.log.warn('the history cannot be written and begins anew', { error: describeError(error) });
    }
    return false;
  }

  /** Drops what is too old or too much, whole segments from the oldest on. */
  async retain(now: number): Promise<void> {
    const { retentionMs, limitBytes } = this.#options;
    let bytes = this.#bytes;
    let count = 0;
    for (let oldest = this.#chain.at(0); oldest !== undefined; oldest = this.#chain.at(count)) {
      if (bytes <= limitBytes && oldest.head.endedAt >= now - retentionMs) break;
      bytes -= oldest.bytes;
      count++;
    }
    await this.#dropFirst(count);
  }

  async clear(): Promise<void> {
    this.#generation++;
    await this.#dropFirst(this.#chain.size);
  }

  /** Throws `HistoryGone` when the segment was dropped, or is damaged. */
  async recordsOf(segment: Segment, prefix: string): Promise<readonly HistoryRecord[]> {
    try {
      return await readBlock(segment, prefix, (at, length) => this.#options.segments.read(segment.name, at, length));
    } catch (error) {
      const index = this.kept.indexOf(segment);
      if (index < 0) throw new HistoryGone('the segment was dropped', { cause: error });
      if (!(error instanceof DamagedSegment || isUnreadable(error))) throw error;
      this.#tellDamage(segment.name, error);
      await this.#dropFirst(index + 1);
      throw new HistoryGone('the segment is damaged', { cause: error });
    }
  }

  async #dropAll(others: readonly string[]): Promise<void> {
    await this.#dropFirst(this.#chain.size);
    await this.#remove(others);
  }

  async #dropFirst(count: number): Promise<void> {
    if (count === 0) return;
    const dropped: string[] = [];
    for (let i = 0; i < count; i++) {
      const segment = this.#chain.shift();
      if (segment === undefined) break;
      this.#bytes -= segment.bytes;
      dropped.push(segment.name);
    }
    this.#shown = undefined;
    await this.#remove(dropped);
  }

  /** What cannot be removed now is no part of the chain at the next start. */
  async #remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.#options.segments.remove(name).catch((error: unknown) => {
        this.#options.log.warn('a segment of the history cannot be removed', {
          segment: name,
          error: describeError(error),
        });
      });
    }
  }
}

/** True for a file that is gone, and for bytes that do not decompress. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || (error instanceof Error && 'code' in error && UNREADABLE.test(String(error.code)));

const UNREADABLE = /^(ENOENT|ZSTD_|ERR_BUFFER_TOO_LARGE|Z_)/;

/** The largest safe integer has sixteen. */
const NAME_DIGITS = 16;
