import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Containers whose start was sent and whose outcome is not known. Kept in files: a runtime may carry out a request of a
 * kubelet that has ended. Not synced to the disk: a power loss also ends the runtime.
 */
export class StartRecords {
  readonly #directory: string;
  readonly #ids: Set<string>;

  constructor(stateDirectory: string) {
    this.#directory = join(stateDirectory, 'starts');
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    this.#ids = new Set(readdirSync(this.#directory));
  }

  get ids(): readonly string[] {
    return [...this.#ids];
  }

  has(containerId: string): boolean {
    return this.#ids.has(containerId);
  }

  add(containerId: string): void {
    writeFileSync(join(this.#directory, containerId), '', { mode: 0o600 });
    this.#ids.add(containerId);
  }

  remove(containerId: string): void {
    rmSync(join(this.#directory, containerId), { force: true });
    this.#ids.delete(containerId);
  }
}
