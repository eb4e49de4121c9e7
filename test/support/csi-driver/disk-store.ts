import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
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

  /** A loop device with the bytes of the volume. */
  attachDevice({ id, bytes }: Disk): string {
    const [attached] = this.devices(id);
    if (attached !== undefined) return attached;
    closeSync(openSync(this.#image(id), 'a'));
    truncateSync(this.#image(id), bytes);
    return losetup('--find', '--show', this.#image(id))[0] ?? '';
  }

  detachDevice(id: string): void {
    for (const device of this.devices(id)) losetup('--detach', device);
  }

  devices(id: string): readonly string[] {
    if (!existsSync(this.#image(id))) return [];
    return losetup('--noheadings', '--output', 'NAME', '--associated', this.#image(id));
  }

  #image(id: string): string {
    return path.join(this.#root, id, 'image');
  }

  #file(id: string): string {
    return path.join(this.#root, id, 'disk.json');
  }
}

const losetup = (...args: readonly string[]): readonly string[] =>
  execFileSync('losetup', args, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');
