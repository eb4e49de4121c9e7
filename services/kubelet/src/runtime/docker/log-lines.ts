import type { Output } from './frames.ts';
import { TERMINAL_LINE_MAX_BYTES } from './limits.ts';

/** One line of a log, or a part of a long one, as the engine gives it: its time, a space, its text. */
export interface LogLine {
  readonly time: string;
  /** As in the file of the node: `<time> <stream> <F|P> <text>`. */
  readonly bytes: Buffer;
}

const NEWLINE = 0x0a;
const SPACE = 0x20;

export function logLine(output: Output, bytes: Buffer): LogLine {
  const space = bytes.indexOf(SPACE);
  const time = bytes.subarray(0, Math.max(0, space)).toString('latin1');
  const isWhole = bytes.at(-1) === NEWLINE;
  const text = bytes.subarray(space + 1, isWhole ? -1 : undefined);
  const head = Buffer.from(`${time} ${output} ${isWhole ? 'F' : 'P'} `);
  return { time, bytes: Buffer.concat([head, text, Buffer.from('\n')]) };
}

/**
 * The output of a terminal has no frames: its lines are separated by line breaks only. A program may never write one, so
 * a long line becomes parts with the time of its beginning.
 */
export class TerminalLines {
  #kept: Buffer = Buffer.alloc(0);
  /** The time of a line of which parts were given, and a space. */
  #time: Buffer | undefined;

  push(chunk: Buffer): readonly Buffer[] {
    const bytes = Buffer.concat([this.#kept, chunk]);
    const lines: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
      lines.push(this.#line(bytes.subarray(at, end + 1)));
      at = end + 1;
    }
    this.#kept = bytes.subarray(at);
    if (this.#kept.length > TERMINAL_LINE_MAX_BYTES) lines.push(this.#part());
    return lines;
  }

  /** What came after the last line break. */
  rest(): readonly Buffer[] {
    return this.#kept.length === 0 ? [] : [this.#line(this.#kept)];
  }

  #part(): Buffer {
    const bytes = this.#kept;
    this.#kept = Buffer.alloc(0);
    if (this.#time !== undefined) return Buffer.concat([this.#time, bytes]);
    this.#time = Buffer.from(bytes.subarray(0, bytes.indexOf(SPACE) + 1));
    return bytes;
  }

  #line(bytes: Buffer): Buffer {
    const time = this.#time;
    this.#time = undefined;
    return time === undefined ? bytes : Buffer.concat([time, bytes]);
  }
}

/** Where a log was left: lines of this time are in the file already, this many of them. */
export interface LogPlace {
  readonly time: string;
  readonly lines: number;
}

/** The end of a file: a line that was cut off does not count. */
export function placeAfter(text: string): LogPlace | undefined {
  const times = text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(0, Math.max(0, line.indexOf(' '))));
  const time = times.at(-1);
  if (time === undefined || time === '') return undefined;
  return { time, lines: times.filter((each) => each === time).length };
}

/** The engine starts with the first line of that time. */
export class SkipKnown {
  readonly #place: LogPlace | undefined;
  #left: number;

  constructor(place: LogPlace | undefined) {
    this.#place = place;
    this.#left = place?.lines ?? 0;
  }

  isKnown({ time }: LogLine): boolean {
    if (this.#left === 0 || time !== this.#place?.time) return false;
    this.#left--;
    return true;
  }
}

/** `2026-01-02T03:04:05.000000006Z` in seconds, without losing a digit. */
export function sinceOf({ time }: LogPlace, parse: (text: string) => number | undefined): string | undefined {
  const [, whole = '', fraction = '0', zone = ''] =
    /^([^.Z+]+T[^.Z+-]+)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  const seconds = parse(`${whole}${zone}`);
  return seconds === undefined ? undefined : `${seconds / 1000}.${fraction.padEnd(9, '0')}`;
}
