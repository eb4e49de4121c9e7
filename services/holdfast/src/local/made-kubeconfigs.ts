import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ClusterHome } from './cluster-home.ts';

/** No cluster has a name with a dot. */
const FOLDER = '.kubeconfigs';
const NAME_CHARS = 32;

/** The kubeconfigs of the user that `--merge` made, for all clusters: the last one that leaves removes the file. */
export class MadeKubeconfigs {
  readonly #folder: string;

  constructor(home: ClusterHome) {
    this.#folder = path.join(path.dirname(home.folder), FOLDER);
  }

  note(file: string): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.#markOf(file), `${file}\n`, { mode: 0o600 });
  }

  has(file: string): boolean {
    return existsSync(this.#markOf(file));
  }

  forget(file: string): void {
    rmSync(this.#markOf(file), { force: true });
    if (existsSync(this.#folder) && readdirSync(this.#folder).length === 0) rmdirSync(this.#folder);
  }

  #markOf(file: string): string {
    return path.join(this.#folder, createHash('sha256').update(file).digest('hex').slice(0, NAME_CHARS));
  }
}
