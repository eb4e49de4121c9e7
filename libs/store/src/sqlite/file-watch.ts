import { statSync } from 'node:fs';

/** What is known of one file; `undefined` fields while it is absent. */
interface FileState {
  readonly inode: bigint | undefined;
  readonly size: bigint | undefined;
  readonly modifiedNs: bigint | undefined;
}

const ABSENT: FileState = { inode: undefined, size: undefined, modifiedNs: undefined };

/**
 * Notices that somebody else replaced or wrote the files of an open database: a restored backup that was moved or copied over them.
 * SQLite holds its lock on the file it opened and would go on writing to it, wherever the name leads now.
 */
export class FileWatch {
  readonly #files: readonly string[];
  #left: readonly FileState[] = [];

  constructor(files: readonly string[]) {
    this.#files = files;
    this.remember();
  }

  /** Takes the files as they are now for ours. Call it after each operation that may write. */
  remember(): void {
    this.#left = this.#files.map(stateOf);
  }

  /** The first file that is not as it was left. */
  changed(): string | undefined {
    return this.#files.find((file, index) => !isSame(stateOf(file), this.#left[index] ?? ABSENT));
  }
}

function stateOf(file: string): FileState {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? ABSENT : { inode: found.ino, size: found.size, modifiedNs: found.mtimeNs };
}

const isSame = (a: FileState, b: FileState): boolean =>
  a.inode === b.inode && a.size === b.size && a.modifiedNs === b.modifiedNs;
