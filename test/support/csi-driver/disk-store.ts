import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** A volume of the driver: a directory, and facts about it in a file beside it. */
export interface Disk {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  /** The nodes that it is attached to. */
  readonly attachedTo: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
}

/** All volumes, on the disk of this machine: every process of the driver sees the same ones. */
export class DiskStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    mkdirSync(root, { recursive: true });
  }

  directory(id: string): string {
    return path.join(this.#root, id, 'data');
  }

  get(id: string): Disk | undefined {
    const file = this.#file(id);
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Disk) : undefined;
  }

  all(): readonly Disk[] {
    return readdirSync(this.#root).flatMap((id) => this.get(id) ?? []);
  }

  /** The same name is the same volume. */
  make(name: string, bytes: number, parameters: Disk['parameters']): Disk {
    const id = `vol-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
    const found = this.get(id);
    if (found !== undefined) return found;
    mkdirSync(this.directory(id), { recursive: true });
    return this.put({ id, name, bytes, attachedTo: [], parameters });
  }

  put(disk: Disk): Disk {
    writeFileSync(this.#file(disk.id), JSON.stringify(disk));
    return disk;
  }

  remove(id: string): void {
    rmSync(path.join(this.#root, id), { recursive: true, force: true });
  }

  #file(id: string): string {
    return path.join(this.#root, id, 'disk.json');
  }
}
