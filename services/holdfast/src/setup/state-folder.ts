import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

/**
 * A folder for one reader. Only root can change the owner of files; another user keeps them, which is correct on a
 * personal machine.
 */
export class StateFolder {
  readonly #path: string;
  readonly #owner: number | undefined;

  constructor(folder: string, uid: number) {
    this.#path = folder;
    this.#owner = process.getuid?.() === 0 ? uid : undefined;
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, PRIVATE_FOLDER);
    if (this.#owner !== undefined) chownSync(folder, this.#owner, this.#owner);
  }

  /** Atomic: after a crash the old file is intact. */
  write(file: string, text: string): void {
    const target = path.join(this.#path, file);
    writeFileSync(`${target}.new`, text, { mode: PRIVATE_FILE });
    if (this.#owner !== undefined) chownSync(`${target}.new`, this.#owner, this.#owner);
    renameSync(`${target}.new`, target);
  }

  read(file: string): string | undefined {
    try {
      return readFileSync(path.join(this.#path, file), 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }
}
