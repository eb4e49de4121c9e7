import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');
const PACKAGE_GROUPS = ['libs', 'services'];
const SCOPE = '@holdfast/';

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** A package of this workspace. */
export interface Room {
  /** From the root of the workspace: `libs/api`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));

/** The packages that this one needs at run time, with itself. */
export function roomsOf(name: string): readonly Room[] {
  const all = new Map(allRooms().map((room) => [room.manifest.name, room]));
  const found = new Map<string, Room>();
  const visit = (each: string): void => {
    const room = all.get(each);
    if (room === undefined || found.has(each)) return;
    found.set(each, room);
    for (const dependency of Object.keys(room.manifest.dependencies ?? {})) visit(dependency);
  };
  visit(name);
  return [...found.values()];
}

/** All packages of this workspace. */
export function allRooms(): readonly Room[] {
  return PACKAGE_GROUPS.flatMap((group) =>
    readdirSync(path.join(ROOT, group))
      .map((entry) => `${group}/${entry}`)
      .filter((folder) => existsSync(path.join(ROOT, folder, 'package.json')))
      .map((folder) => ({ folder, manifest: readManifest(path.join(ROOT, folder)) })),
  );
}

/** Where `@holdfast/NAME` and `@holdfast/NAME/PART` lie, from the root of the workspace. */
export class Addresses {
  readonly #files = new Map<string, string>();

  constructor(rooms: readonly Room[]) {
    for (const { folder, manifest } of rooms) {
      for (const [key, file] of Object.entries(manifest.exports ?? {})) {
        this.#files.set(path.posix.join(manifest.name, key), path.posix.join(folder, file));
      }
    }
  }

  /** Absent for a package of others. */
  fileOf(specifier: string): string | undefined {
    return specifier.startsWith(SCOPE) ? this.#files.get(specifier) : undefined;
  }
}

/** The source files of a room from the root of the workspace, without those that only its tests use. */
export function filesOf({ folder }: Room): readonly string[] {
  const entries = readdirSync(path.join(ROOT, folder, 'src'), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)))
    .filter((file) => !NOT_SHIPPED.test(file));
}

/** The console is shipped as built. */
const NOT_SHIPPED = /\.test\.ts$|\/fixtures\/|\.proto$|^services\/console\/src\/(?:page|state)\//;
