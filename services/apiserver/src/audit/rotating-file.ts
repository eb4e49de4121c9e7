import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, dateOf, describeError, OperatorError, parseTime } from '@holdfast/platform';
import type { AuditFile } from './log-sink.ts';

export interface RotationLimits {
  readonly maxBytes: number;
  /** 0 = all. */
  readonly maxBackups: number;
  /** 0 = unlimited. */
  readonly maxAgeMs: number;
}

/** Readable only for the server's owner: it records all activity and may contain objects. */
const MODE = 0o600;
const FOLDER_MODE = 0o700;

/** A file that is put aside under a name with the time when it would grow too long. */
export function createRotatingFile(file: string, limits: RotationLimits, clock: Clock): AuditFile {
  return new RotatingFile(file, limits, clock);
}

class RotatingFile implements AuditFile {
  readonly #path: string;
  readonly #limits: RotationLimits;
  readonly #clock: Clock;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The last write may have ended in the middle of a line. */
  #isTorn = false;

  constructor(file: string, limits: RotationLimits, clock: Clock) {
    this.#path = file;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** An unwritable path is the operator's mistake, reported at the start. */
  readonly open = async (): Promise<void> => {
    try {
      await mkdir(path.dirname(this.#path), { recursive: true, mode: FOLDER_MODE });
      await this.#opened();
    } catch (error) {
      throw new OperatorError({
        code: 'AUDIT_LOG',
        message: `The audit log ${this.#path} cannot be written: ${describeError(error)}.`,
        nextStep: 'Name a file in a folder that this process may write to with --audit-log-path.',
        exitCode: 2,
        cause: error,
      });
    }
  };

  readonly append = async (text: string): Promise<void> => {
    const length = Buffer.byteLength(text);
    if (this.#bytes > 0 && this.#bytes + length > this.#limits.maxBytes) await this.#rotate();
    const handle = await this.#opened();
    const bytes = Buffer.from(this.#isTorn ? `\n${text}` : text);
    this.#isTorn = true;
    await handle.appendFile(bytes);
    this.#isTorn = false;
    this.#bytes += bytes.length;
  };

  readonly close = async (): Promise<void> => {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  };

  async #opened(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    const handle = await open(this.#path, 'a', MODE);
    const status = await handle.stat();
    // Also for an existing file.
    if (status.isFile() && (status.mode & 0o777) !== MODE) await handle.chmod(MODE);
    this.#bytes = status.isFile() ? status.size : 0;
    this.#isTorn = this.#bytes > 0 && !(await endsWithLine(this.#path, this.#bytes));
    this.#handle = handle;
    return handle;
  }

  /** A file that another program rotated or removed is not rotated again. */
  async #rotate(): Promise<void> {
    await this.close();
    await rename(this.#path, await this.#backupName()).catch(unlessGone);
    this.#bytes = 0;
    await this.#prune();
  }

  async #backupName(): Promise<string> {
    const known = new Set(await readdir(path.dirname(this.#path)));
    for (let at = this.#clock.now(); ; at++) {
      const name = backupName(this.#path, at);
      if (!known.has(path.basename(name))) return name;
    }
  }

  async #prune(): Promise<void> {
    const folder = path.dirname(this.#path);
    const { maxBackups, maxAgeMs } = this.#limits;
    const backups = (await readdir(folder)).flatMap((name) => {
      const at = backupTime(path.basename(this.#path), name);
      return at === undefined ? [] : [{ name, at }];
    });
    const newestFirst = backups.toSorted((a, b) => b.at - a.at);
    const oldest = maxAgeMs === 0 ? Number.NEGATIVE_INFINITY : this.#clock.now() - maxAgeMs;
    const gone = newestFirst.filter(({ at }, i) => (maxBackups > 0 && i >= maxBackups) || at < oldest);
    // A file that cannot be removed is retried with the next one; no event is lost.
    for (const { name } of gone) await unlink(path.join(folder, name)).catch(() => {});
  }
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** A process that was killed, or a disk that was full, may have left half a line. */
async function endsWithLine(file: string, size: number): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] === 0x0a;
  } finally {
    await handle.close();
  }
}

/** `audit.log` becomes `audit-2026-01-31T23-59-59.000.log`, as kube-apiserver names it. */
export function backupName(file: string, at: number): string {
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}-${dateOf(at).toISOString().replaceAll(':', '-').replace('Z', '')}${ext}`);
}

const TIME = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/;

/** Returns the rotation time of a file; `undefined` for foreign files. */
export function backupTime(file: string, backup: string): number | undefined {
  const { name, ext } = path.parse(file);
  if (!backup.startsWith(`${name}-`) || !backup.endsWith(ext)) return undefined;
  const match = TIME.exec(backup.slice(name.length + 1, backup.length - ext.length));
  if (match === null) return undefined;
  return parseTime(`${match[1]}${match[2]}:${match[3]}:${match[4]}Z`);
}
