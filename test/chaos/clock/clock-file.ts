import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { uptime } from 'node:os';
import path from 'node:path';

/** What clock.c reads: five whole numbers, the first of which is odd while the others are written. */
interface Clocks {
  readonly wallMovedByNs: bigint;
  /** All clocks are behind those of the machine by `behindNs` until it has run for `sinceNs`, and fall back from then on. */
  readonly behindNs: bigint;
  readonly sinceNs: bigint;
  readonly lostPpm: bigint;
}

const RIGHT: Clocks = { wallMovedByNs: 0n, behindNs: 0n, sinceNs: 0n, lostPpm: 0n };
const WORDS = 5;
const WORD_BYTES = 8;
const NS_PER_MS = 1e6;
/** The time that the machine has run is known in steps of 10 ms, and no clock may go back. */
const SOON_NS = 20_000_000n;

/** The library that gives a process clocks of its own. It reads `clockFile`, or the file that a container has. */
export function buildClockLibrary(folder: string, clockFile?: string): string {
  const library = path.join(folder, 'clock.so');
  const named = clockFile === undefined ? [] : [`-DCLOCK_FILE="${clockFile}"`];
  const source = path.join(import.meta.dirname, 'clock.c');
  execFileSync('gcc', ['-O2', '-Wall', '-Werror', '-shared', '-fPIC', ...named, '-o', library, source]);
  return library;
}

/** The clocks of a container go as those of the machine. */
export const createClockFile = (file: string): void =>
  writeFileSync(file, Buffer.alloc(WORDS * WORD_BYTES), { mode: 0o644 });

export function moveWallClock(file: string, byMs: number): void {
  const clocks = readClocks(file);
  writeClocks(file, { ...clocks, wallMovedByNs: clocks.wallMovedByNs + BigInt(Math.round(byMs * NS_PER_MS)) });
}

/** All clocks lose so many thousandths from now on. What they have lost stays lost: a clock that measures spans never goes forward by a jump. */
export function slowClocks(file: string, thousandths: number): void {
  const clocks = readClocks(file);
  const lostPpm = BigInt(Math.round(thousandths * 1000));
  const nowNs = BigInt(Math.round(uptime() * 1000)) * BigInt(NS_PER_MS);
  const sinceNs = lostPpm > clocks.lostPpm ? nowNs + SOON_NS : nowNs;
  writeClocks(file, { ...clocks, behindNs: behindAt(clocks, sinceNs), sinceNs, lostPpm });
}

/** The wall clock is that of the machine again, and all clocks go as fast. */
export function setRight(file: string): void {
  slowClocks(file, 0);
  const clocks = readClocks(file);
  writeClocks(file, { ...clocks, wallMovedByNs: clocks.behindNs });
}

function behindAt({ behindNs, sinceNs, lostPpm }: Clocks, atNs: bigint): bigint {
  const ranNs = atNs - sinceNs;
  return ranNs > 0n ? behindNs + (ranNs * lostPpm) / 1_000_000n : behindNs;
}

const ORDER = ['wallMovedByNs', 'behindNs', 'sinceNs', 'lostPpm'] as const;

function readClocks(file: string): Clocks {
  const bytes = readFileSync(file);
  const clocks = { ...RIGHT };
  for (const [index, name] of ORDER.entries()) clocks[name] = bytes.readBigInt64LE((index + 1) * WORD_BYTES);
  return clocks;
}

/** In place: processes have the file in their memory. */
function writeClocks(file: string, clocks: Clocks): void {
  const version = readFileSync(file).readBigInt64LE(0);
  const descriptor = openSync(file, 'r+');
  try {
    const put = (index: number, words: readonly bigint[]): void => {
      const bytes = Buffer.alloc(words.length * WORD_BYTES);
      for (const [at, word] of words.entries()) bytes.writeBigInt64LE(word, at * WORD_BYTES);
      writeSync(descriptor, bytes, 0, bytes.length, index * WORD_BYTES);
    };
    put(0, [version + 1n]);
    put(
      1,
      ORDER.map((name) => clocks[name]),
    );
    put(0, [version + 2n]);
  } finally {
    closeSync(descriptor);
  }
}
