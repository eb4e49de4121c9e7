import type { Mount } from '../port.ts';

/** The machine's files as the plan needs them. Paths are absolute. */
export interface MachineFiles {
  /** Symbolic links followed as far as the path exists; the rest is kept. */
  resolve(path: string): string;
  isDirectory(path: string): boolean;
  exists(path: string): boolean;
  /** True when users other than root and this one can add names to it. */
  isOpenToOthers(path: string): boolean;
  entries(path: string): readonly { readonly name: string; readonly kind: 'directory' | 'file' | 'link' }[];
}

/**
 * The plan of one container's view of the machine. The supervisor creates `made` on the disk; `mounts` is one table
 * that one program executes in its own mount namespace, because every program of a start costs milliseconds.
 */
export interface MountPlan {
  readonly made: readonly MadeEntry[];
  readonly mounts: readonly MountEntry[];
}

/** `path` is absolute, on this machine. */
export type MadeEntry =
  /** `like`: with the mode of that directory. */
  | { readonly kind: 'directory'; readonly path: string; readonly like?: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'copyLink'; readonly path: string; readonly from: string }
  /** In a tree that pods write: no link may be followed from `root` to the relative `path`. */
  | { readonly kind: 'mountPoint'; readonly root: string; readonly path: string; readonly isDirectory: boolean };

export interface MountEntry {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** A file of the machine. It may have vanished since it was listed. */
  readonly mayBeMissing: boolean;
  /** True for the pod's volumes. */
  readonly isVolume?: true;
  /** Of volumes: the source. Absent: it is a file or a directory of the machine, and one look says which. */
  readonly isDirectory?: boolean;
  /** The source lies in a tree that pods write, and they may put a link in its place. */
  readonly isSourceOpen?: true;
  /** The same of the target. */
  readonly isTargetOpen?: true;
}

export interface MountPlace {
  /** The directory in which the container's root is built. */
  readonly root: string;
  /** Directories that stand in for those of the machine are made here. */
  readonly directory: string;
}

/**
 * Plans how a container gets its volumes at their paths while the machine's directories stay unchanged: its root is a
 * new directory that shows all files of the machine. Where a mount point is missing, the directory above it is replaced
 * as well.
 */
export function planMounts(place: MountPlace, mounts: readonly Mount[], machine: MachineFiles): MountPlan {
  const wanted = mounts
    .map((mount) => ({ ...mount, target: machine.resolve(mount.target) }))
    .toSorted((a, b) => depth(a.target) - depth(b.target));
  const around = (path: string): Mount | undefined => wanted.findLast(({ target }) => isBelow(path, target));
  const first = wanted.filter(({ target }) => around(target) === undefined);
  const missing = first.filter(({ target }) => !machine.exists(target));
  const standIns = placeStandIns(place, [
    ...new Set([
      '/',
      ...missing.map(({ target }) => deepestDirectory(target, machine)),
      ...first.flatMap(({ target }) => openDirectories(target, machine)),
    ]),
  ]);
  const made: MadeEntry[] = [];
  const entries: MountEntry[] = [];
  for (const standIn of standIns.values()) {
    const copy = mirror(place.root, standIn, machine);
    made.push(...copy.made);
    // A path with a replacement is not mounted before: `mount -a` would treat what lies below as mounted already.
    entries.push(...copy.mounts.filter(({ source, mayBeMissing }) => !mayBeMissing || !standIns.has(source)));
  }
  for (const { source, target, readOnly, within, isDirectory = machine.isDirectory(source) } of wanted) {
    const cover = around(target);
    if (cover !== undefined) made.push(mountPointIn(cover, target, isDirectory));
    else if (!machine.exists(target)) {
      const above = standInOf(target, standIns, machine);
      made.push(...mountPoint(`${above.source}${below(target, above.target)}`, isDirectory));
    }
    entries.push({
      source,
      target: `${place.root}${target}`,
      readOnly,
      mayBeMissing: false,
      isVolume: true,
      isDirectory,
      ...(within === undefined ? {} : { isSourceOpen: true }),
      ...(cover === undefined ? {} : { isTargetOpen: true }),
    });
  }
  return { made, mounts: entries };
}

/**
 * Returns the directories above a target, starting with the first that users other than root can write. Each is
 * replaced by a copy: otherwise somebody could put a link on the path between the plan and the mount.
 */
function openDirectories(target: string, machine: MachineFiles): readonly string[] {
  const above: string[] = [];
  for (let path = parentOf(target); path !== '/'; path = parentOf(path))
    if (machine.isDirectory(path)) above.unshift(path);
  const first = above.findIndex((path) => machine.isOpenToOthers(path));
  return first === -1 ? [] : above.slice(first);
}

/** A mount point in another volume, which the pod may have filled with links. */
function mountPointIn(cover: Mount, target: string, isDirectory: boolean): MadeEntry {
  const root = cover.within ?? cover.source;
  const path = `${below(cover.source, root)}${below(target, cover.target)}`.slice(1);
  return { kind: 'mountPoint', root, path, isDirectory };
}

/** Returns the paths of directories that the container must not see: everywhere except where a volume covers them. */
export function hiddenTargets(
  root: string,
  hidden: readonly string[],
  mounts: readonly MountEntry[],
): readonly string[] {
  const outermost = hidden.filter((path) => !hidden.some((other) => isBelow(path, other)));
  const volumes = mounts.filter(({ isVolume }) => isVolume === true).map(({ target }) => target);
  const isCovered = (path: string): boolean => volumes.some((target) => path === target || isBelow(path, target));
  return outermost.map((path) => `${root}${path}`).filter((path) => !isCovered(path));
}

/** A directory that is shown in place of the machine's own. */
interface StandIn {
  readonly source: string;
  readonly target: string;
  /** It lies in another one, so it need not be mounted. */
  readonly isInside: boolean;
}

function placeStandIns({ root, directory }: MountPlace, targets: readonly string[]): ReadonlyMap<string, StandIn> {
  const all = new Map<string, StandIn>();
  for (const target of targets.toSorted((a, b) => depth(a) - depth(b))) {
    const above = target === '/' ? undefined : all.get(parentOf(target));
    const own = target === '/' ? root : `${directory}/stand-in-${all.size}`;
    const source = above === undefined ? own : `${above.source}${below(target, above.target)}`;
    all.set(target, { source, target, isInside: above !== undefined });
  }
  return all;
}

function standInOf(path: string, standIns: ReadonlyMap<string, StandIn>, machine: MachineFiles): StandIn {
  const found = standIns.get(deepestDirectory(path, machine));
  if (found === undefined) throw new Error(`there is no replacement for the directory above ${path}`);
  return found;
}

/** An empty copy of a directory of the machine, and what shows everything in it. */
function mirror(root: string, { source: copy, target, isInside }: StandIn, machine: MachineFiles): MountPlan {
  const entries = machine.entries(target).map(({ name, kind }) => ({
    kind,
    path: `${copy}/${name}`,
    from: target === '/' ? `/${name}` : `${target}/${name}`,
  }));
  const own = {
    source: copy,
    target: target === '/' ? root : `${root}${target}`,
    readOnly: false,
    mayBeMissing: false,
  };
  return {
    made: [
      { kind: 'directory', path: copy, like: target },
      ...entries.map(
        ({ kind, path, from }): MadeEntry => (kind === 'link' ? { kind: 'copyLink', path, from } : { kind, path }),
      ),
    ],
    mounts: [
      ...(isInside ? [] : [own]),
      ...entries
        .filter(({ kind }) => kind !== 'link')
        .map(({ from }) => ({ source: from, target: `${root}${from}`, readOnly: false, mayBeMissing: true })),
    ],
  };
}

const mountPoint = (path: string, isDirectory: boolean): readonly MadeEntry[] =>
  isDirectory
    ? [{ kind: 'directory', path }]
    : [
        { kind: 'directory', path: parentOf(path) },
        { kind: 'file', path },
      ];

function deepestDirectory(path: string, machine: MachineFiles): string {
  let directory = parentOf(path);
  while (!machine.isDirectory(directory)) directory = parentOf(directory);
  return directory;
}

function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? '/' : path.slice(0, end);
}

const depth = (path: string): number => (path === '/' ? 0 : path.split('/').length);
const isBelow = (path: string, directory: string): boolean => path !== directory && path.startsWith(`${directory}/`);
/** With its leading slash. */
const below = (path: string, directory: string): string => (directory === '/' ? path : path.slice(directory.length));

/** `asUser`: flags that a user without rights over the machine may not take away from a mount stay on those that become read-only. */
export function mountTable(mounts: readonly MountEntry[], asUser: boolean): string {
  const protect = asUser ? ',ro,nosuid,nodev' : ',ro';
  const line = ({ source, target, readOnly, mayBeMissing }: MountEntry): string =>
    `${fstabPath(source)} ${fstabPath(target)} none rbind${readOnly ? protect : ''}${mayBeMissing ? ',nofail' : ''} 0 0\n`;
  return mounts.map(line).join('');
}

/** Escaped for fstab(5). */
export const fstabPath = (path: string): string =>
  path.replaceAll(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
