import { formatMicroTime, parseTime } from '@holdfast/platform';
import type { LogTimes } from './log-times.ts';

/** A part of a log file and where in the file it begins. */
export interface LogBlock {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface LineOptions {
  readonly timestamps: boolean;
  /** Only lines from this time on. */
  readonly sinceMs: number | undefined;
}

const NEWLINE = 0x0a;

/** Lines of a log that holds nothing but what was written; when is known from the notes beside it. */
export async function* timedLines(
  blocks: AsyncIterable<LogBlock>,
  times: LogTimes,
  { timestamps, sinceMs }: LineOptions,
): AsyncGenerator<Uint8Array> {
  let expected: number | undefined;
  let atLineStart = true;
  let isShown = false;
  for await (const { offset, bytes } of blocks) {
    // The file was emptied: what follows is a line of its own.
    if (offset !== expected) atLineStart = true;
    expected = offset + bytes.length;
    const out: Uint8Array[] = [];
    for (let from = 0; from < bytes.length; ) {
      if (atLineStart) {
        const at = await times.at(offset + from);
        isShown = sinceMs === undefined || at >= sinceMs;
        if (isShown && timestamps) out.push(Buffer.from(`${nanoTime(at)} `));
      }
      const end = bytes.indexOf(NEWLINE, from);
      const to = end < 0 ? bytes.length : end + 1;
      if (isShown) out.push(bytes.subarray(from, to));
      atLineStart = end >= 0;
      from = to;
    }
    if (out.length > 0) yield Buffer.concat(out);
  }
}

/** The line format of container runtimes: `<time> <stream> <F or P> <text>`; after a P the line continues. */
export async function* criLines(
  blocks: AsyncIterable<LogBlock>,
  { timestamps, sinceMs }: LineOptions,
): AsyncGenerator<Uint8Array> {
  let expected: number | undefined;
  let rest: Uint8Array = new Uint8Array();
  let atLineStart = true;
  for await (const { offset, bytes } of blocks) {
    if (offset !== expected) rest = new Uint8Array();
    expected = offset + bytes.length;
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const out: Uint8Array[] = [];
    let from = 0;
    for (let end = all.indexOf(NEWLINE); end >= 0; end = all.indexOf(NEWLINE, from)) {
      const line = readCriLine(all.subarray(from, end));
      from = end + 1;
      if (line === undefined) continue;
      if (sinceMs === undefined || (parseTime(line.time) ?? 0) >= sinceMs) {
        if (timestamps && atLineStart) out.push(Buffer.from(`${line.time} `));
        out.push(line.text, Buffer.from(line.isPartial ? '' : '\n'));
      }
      atLineStart = !line.isPartial;
    }
    rest = all.subarray(from);
    if (out.length > 0) yield Buffer.concat(out);
  }
}

/** A piece of a log without what the runtime wrote before its lines; a first line that lacks its beginning is left out. */
export function logText(bytes: Uint8Array, format: 'cri' | undefined): Uint8Array {
  if (format === undefined) return bytes;
  const out: Uint8Array[] = [];
  let from = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
    const line = readCriLine(bytes.subarray(from, end));
    from = end + 1;
    if (line !== undefined) out.push(line.text, Buffer.from(line.isPartial ? '' : '\n'));
  }
  return Buffer.concat(out);
}

interface CriLine {
  readonly time: string;
  readonly isPartial: boolean;
  readonly text: Uint8Array;
}

/** Returns `undefined` for a line that is not in the runtime's format. */
export function readCriLine(line: Uint8Array): CriLine | undefined {
  const head = /^(\S+) (?:stdout|stderr) ([FP])(?: |$)/.exec(Buffer.from(line.subarray(0, 64)).toString('latin1'));
  if (head === null) return undefined;
  const [prefix, time = '', tag = ''] = head;
  return { time, isPartial: tag === 'P', text: line.subarray(prefix.length) };
}

/** Nine decimals, as everybody prints the times of log lines. */
const nanoTime = (epochMs: number): string => formatMicroTime(epochMs).replace('Z', '000Z');
