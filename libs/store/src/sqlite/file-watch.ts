import { statSync } from 'node:fs';

/** The known state of one file; fields are `undefined` while it is absent. */
interface FileState {
  readonly inode: bigint | undefined;
  readonly size: bigint | undefined;
  readonly modifiedNs: bigint | undefined;
}

const ABSENT: FileState = { inode: undefined, size: undefined, modifiedNs: undefined };

/**
 * Detects that another process replaced or wrote the files of an open database, such as a restored backup. SQLite keeps
 * its lock on the file it opened and would continue to write to it, even when the name leads to another file. What somebody writes
 * into the same file during a write of ours looks like ours and is not found.
 */
export class FileWatch {
  readonly #files: readonly string[];
  #left: readonly FileState[] = [];

  constructor(files: readonly string[]) {
    this.#files = files;
    this.remember();
  }

  /** Accepts the current files as ours, unless another file has taken the place of one. Call it after each operation that may write. */
  remember(): void {
    const now = this.#files.map(stateOf);
    const isReplaced = ({ inode }: FileState, index: number): boolean => {
      const before = this.#left[index]?.inode;
      return before !== undefined && before !== inode;
    };
    if (!now.some(isReplaced)) this.#left = now;
  }

  /** Returns the first file that changed since `remember`. */
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
