import { cpSync, existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type Manifest, ROOT, type Room, readManifest } from './workspace.ts';

/** Large, and used only where traces are wanted: whoever wants them installs it. */
export const OPTIONAL_LIBRARIES: ReadonlySet<string> = new Set(['@opentelemetry/api', '@opentelemetry/sdk-node']);
const SCOPE = '@holdfast/';
/** Of no use at run time. Licences stay. Below the first level such names are parts of programs. */
const NOT_COPIED =
  /^\/(?:node_modules|tests?|__tests__|benchmarks?|docs?|examples?|\.github)$|\.(?:map|[cm]?ts|ya?ml|html|gitattributes|taprc)$|\/(?!licen[cs]e)[^/]*\.md$/i;

interface Library {
  readonly manifest: Manifest;
  readonly from: string;
}

/**
 * Copies the libraries of others that these rooms need below `target`, with the libraries that those need. Returns the versions of those that the rooms
 * name.
 */
export function copyLibraries(rooms: readonly Room[], target: string): ReadonlyMap<string, string> {
  const direct = new Map<string, string>();
  const shared = path.join(target, 'node_modules');
  const versions = new Map<string, string>();
  for (const { folder, manifest } of rooms) {
    for (const library of librariesOf(manifest, path.join(ROOT, folder))) {
      direct.set(library.manifest.name, library.manifest.version);
      copy(library, { shared, versions, user: target });
    }
  }
  return direct;
}

function librariesOf(manifest: Manifest, folder: string): readonly Library[] {
  return Object.keys(manifest.dependencies ?? {})
    .filter((name) => !name.startsWith(SCOPE) && !OPTIONAL_LIBRARIES.has(name))
    .map((name) => {
      const from = installedFolder(name, folder);
      return { manifest: readManifest(from), from };
    });
}

/** As Node looks for it: in the folders above. */
function installedFolder(name: string, from: string): string {
  for (let folder = realpathSync(from); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, 'node_modules', name);
    if (existsSync(candidate)) return realpathSync(candidate);
    if (folder === path.dirname(folder)) throw new Error(`${name} is not installed for ${from}: run npm start once`);
  }
}

interface Place {
  readonly shared: string;
  /** The versions of the shared folder. */
  readonly versions: Map<string, string>;
  /** Where a library lies that needs another version than the shared one. */
  readonly user: string;
}

function copy({ manifest, from }: Library, { shared, versions, user }: Place): void {
  const { name, version } = manifest;
  const present = versions.get(name);
  if (present === version) return;
  if (present === undefined) versions.set(name, version);
  const target = path.join(present === undefined ? shared : path.join(user, 'node_modules'), name);
  cpSync(from, target, { recursive: true, filter: (file) => !NOT_COPIED.test(file.slice(from.length)) });
  for (const library of librariesOf(manifest, from)) copy(library, { shared, versions, user: target });
}
