import { appendFileSync, type FSWatcher, readFileSync, renameSync, statSync, watch, writeFileSync } from 'node:fs';
import type { Clock, Timer } from '@holdfast/platform';
import { LOG_TIME_POLL_MS, LOG_TIME_QUIET_POLLS, LOG_TIMES_MAX_BYTES } from './limits.ts';

/** Beside the log; each line has the length of the log at a time. */
export const timesPath = (logPath: string): string => `${logPath}.times`;

export interface LogTimes {
  /** A process writes to this log from now on. */
  follow(path: string): void;
  /** The file is complete. */
  finish(path: string): void;
}

/**
 * Notes when logs grow, so that every line has the time at which it was first seen although its writer writes straight into
 * the file. A quiet log costs nothing: the system tells when it grows. One that grows is looked at a few times a second
 * instead, whatever is written to it.
 */
export function createLogTimes(clock: Clock): LogTimes {
  const followed = new Map<string, FollowedLog>();
  return {
    follow: (path) => {
      followed.get(path)?.stop();
      followed.set(path, new FollowedLog(clock, path));
    },
    finish: (path) => {
      followed.get(path)?.finish();
      followed.delete(path);
    },
  };
}

/** Removes the records about a removed beginning of the log. */
export function forgetTimes(logPath: string, until: number): void {
  const path = timesPath(logPath);
  if (until === 0 || sizeOf(path) === 0) return;
  rewrite(path, (records) => records.filter(([size]) => size > until));
}

type TimeRecord = readonly [size: number, time: number];

/** In another file: a reader that has read a part of this one begins again. */
function rewrite(path: string, change: (records: readonly TimeRecord[]) => readonly TimeRecord[]): void {
  try {
    const text = change(readRecords(path)).map(([size, time]) => `${size} ${time}\n`);
    writeFileSync(`${path}.new`, text.join(''), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // A full disk: they are only too many.
  }
}

function readRecords(path: string): readonly TimeRecord[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [size = 0, time = 0] = line.split(' ').map(Number);
    return [size, time];
  });
}

/**
 * About half of the records, at equal distances in time. With every second one instead, the beginning of a log would lose
 * nearly all of its times when this is repeated.
 */
function thinned(records: readonly TimeRecord[]): readonly TimeRecord[] {
  // The log was emptied: what was noted before is about lines that are gone.
  const emptied = records.findLastIndex(([size], index) => size <= (records[index - 1]?.[0] ?? -1));
  const valid = records.slice(Math.max(0, emptied));
  const [first = 0, last = 0] = [valid[0]?.[1], valid.at(-1)?.[1]];
  // A wall clock may be set back.
  const distance = Math.max(1, Math.abs(last - first) / (valid.length / 2));
  const slotOf = (time: number): number => Math.floor((time - first) / distance);
  return valid.filter(([, time], index) => {
    const next = valid[index + 1];
    return next === undefined || slotOf(next[1]) !== slotOf(time);
  });
}

class FollowedLog {
  readonly #clock: Clock;
  readonly #path: string;
  #noted: number;
  #quietPolls = 0;
  #watcher: FSWatcher | undefined;
  #timer: Timer | undefined;
  #timesMaxBytes = LOG_TIMES_MAX_BYTES;

  constructor(clock: Clock, path: string) {
    this.#clock = clock;
    this.#path = path;
    this.#noted = lastNoted(path);
    this.#listen();
  }

  finish(): void {
    this.stop();
    this.#note();
  }

  stop(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#timer?.cancel();
  }

  #listen(): void {
    try {
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#pollNow());
      // Without a file watch (their number is limited) it is polled.
      this.#watcher.on('error', () => this.#pollNow());
    } catch {
      this.#pollLater();
    }
    // Records writes from before the watch began.
    if (this.#note()) this.#pollNow();
  }

  #pollNow(): void {
    this.stop();
    this.#quietPolls = 0;
    this.#note();
    this.#pollLater();
  }

  #pollLater(): void {
    this.#timer = this.#clock.timer(LOG_TIME_POLL_MS, () => {
      this.#quietPolls = this.#note() ? 0 : this.#quietPolls + 1;
      if (this.#quietPolls < LOG_TIME_QUIET_POLLS) this.#pollLater();
      else this.#listen();
    });
  }

  /** Returns true when it has grown. A truncated log starts again. */
  #note(): boolean {
    const size = sizeOf(this.#path);
    if (size < this.#noted) this.#noted = 0;
    if (size === this.#noted) return false;
    this.#noted = size;
    const times = timesPath(this.#path);
    try {
      appendFileSync(times, `${size} ${this.#clock.now()}\n`, { mode: 0o600 });
    } catch {
      // A full disk takes no times either: these lines get that of the next note.
    }
    if (sizeOf(times) > this.#timesMaxBytes) this.#thin(times);
    return true;
  }

  #thin(times: string): void {
    rewrite(times, thinned);
    // A full disk leaves it as it is: then not every note reads it again.
    this.#timesMaxBytes = Math.max(LOG_TIMES_MAX_BYTES, 2 * sizeOf(times));
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The last record of an earlier supervisor. */
function lastNoted(path: string): number {
  if (sizeOf(timesPath(path)) === 0) return 0;
  const lines = readFileSync(timesPath(path), 'utf8').trimEnd().split('\n');
  return Number(lines.at(-1)?.split(' ')[0] ?? 0) || 0;
}
