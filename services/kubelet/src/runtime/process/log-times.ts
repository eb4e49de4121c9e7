import { appendFileSync, type FSWatcher, readFileSync, renameSync, statSync, watch, writeFileSync } from 'node:fs';
import type { Clock, Timer } from '@holdfast/platform';
import { LOG_TIME_POLL_MS, LOG_TIME_QUIET_POLLS } from './limits.ts';

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
  const lines = readFileSync(path, 'utf8').split('\n');
  const kept = lines.filter((line) => line !== '' && Number(line.split(' ')[0]) > until);
  try {
    writeFileSync(`${path}.new`, kept.map((line) => `${line}\n`).join(''), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // A full disk: they are only too many.
  }
}

class FollowedLog {
  readonly #clock: Clock;
  readonly #path: string;
  #noted: number;
  #quietPolls = 0;
  #watcher: FSWatcher | undefined;
  #timer: Timer | undefined;

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
    try {
      appendFileSync(timesPath(this.#path), `${size} ${this.#clock.now()}\n`, { mode: 0o600 });
    } catch {
      // A full disk takes no times either: these lines get that of the next note.
    }
    return true;
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The last record of an earlier supervisor. */
function lastNoted(path: string): number {
  if (sizeOf(timesPath(path)) === 0) return 0;
  const lines = readFileSync(timesPath(path), 'utf8').trimEnd().split('\n');
  return Number(lines.at(-1)?.split(' ')[0] ?? 0) || 0;
}
