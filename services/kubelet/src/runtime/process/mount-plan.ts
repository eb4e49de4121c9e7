import type { Mount } from '../port.ts';

/** What the machine has, as the plan needs to know it. Paths are absolute. */
export interface MachineFiles {
  /** Symbolic links followed as far as the path exists; the rest is kept. */
  resolve(path: string): string;
  isDirectory(path: string): boolean;
  exists(path: string): boolean;
  entries(path: string): readonly { readonly name: string; readonly kind: 'directory' | 'file' | 'link' }[];
}

/** Carried out in this order by a shell in a mount namespace of its own; `target` is below the container's root. */
export type MountStep =
  | { readonly kind: 'tmpfs'; readonly target: string }
  | { readonly kind: 'directory'; readonly target: string }
  | { readonly kind: 'file'; readonly target: string }
  | { readonly kind: 'copyLink'; readonly source: string; readonly target: string }
  | { readonly kind: 'bind'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  /** What the machine has anyway. It may have vanished since it was listed. */
  | { readonly kind: 'show'; readonly source: string; readonly target: string };

/**
 * How a container gets its volumes at their paths although the machine's own directories stay untouched: its root is a
 * new directory that shows everything the machine has, and where a mount point is missing, so is the directory above it.
 */
export function planMounts(root: string, mounts: readonly Mount[], machine: MachineFiles): readonly MountStep[] {
  const wanted = mounts
    .map((mount) => ({ ...mount, target: machine.resolve(mount.target) }))
    .toSorted((a, b) => depth(a.target) - depth(b.target));
  const covered = (path: string): boolean => wanted.some(({ target }) => isBelow(path, target));
  const missing = wanted.filter(({ target }) => !machine.exists(target) && !covered(target));
  const shadows = new Set(['/', ...missing.map(({ target }) => deepestDirectory(target, machine))]);
  const steps: MountStep[] = [];
  // What gets a directory of its own is not shown before: `mount -a` would take what lies below for mounted already.
  for (const directory of [...shadows].toSorted((a, b) => depth(a) - depth(b)))
    steps.push(...mirror(root, directory, machine).filter((step) => step.kind !== 'show' || !shadows.has(step.source)));
  for (const { source, target, readOnly } of wanted) {
    const point = `${root}${target}`;
    if (!machine.exists(target) || covered(target)) {
      const isDirectory = machine.isDirectory(source);
      steps.push({ kind: 'directory', target: isDirectory ? point : parentOf(point) });
      if (!isDirectory) steps.push({ kind: 'file', target: point });
    }
    steps.push({ kind: 'bind', source, target: point, readOnly });
  }
  return steps;
}

/** An empty directory in memory in place of this one, with everything that the machine's own has. */
function mirror(root: string, directory: string, machine: MachineFiles): MountStep[] {
  const at = directory === '/' ? root : `${root}${directory}`;
  const entries = machine.entries(directory).map(({ name, kind }) => ({
    kind,
    source: directory === '/' ? `/${name}` : `${directory}/${name}`,
    target: `${at}/${name}`,
  }));
  const of = (kind: (typeof entries)[number]['kind']) => entries.filter((entry) => entry.kind === kind);
  return [
    { kind: 'tmpfs', target: at },
    ...of('directory').map(({ target }): MountStep => ({ kind: 'directory', target })),
    ...of('file').map(({ target }): MountStep => ({ kind: 'file', target })),
    ...of('link').map(({ source, target }): MountStep => ({ kind: 'copyLink', source, target })),
    ...[...of('directory'), ...of('file')].map(({ source, target }): MountStep => ({ kind: 'show', source, target })),
  ];
}

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

/**
 * POSIX shell; what goes wrong is told on file descriptor 3. Steps of one kind that follow each other are one command: a
 * process for each would take a tenth of a second.
 */
export function mountScript(steps: readonly MountStep[], directory: string): MountScript {
  const files = new Map<string, string>();
  const lines = batches(steps).map((batch, index) => {
    const table = `${directory}/mounts-${index}`;
    if (batch[0].kind === 'show') files.set(table, tableOf(batch));
    return `${commandOf(batch, table)} || fail ${quote(`cannot mount ${batch[0].target}`)}`;
  });
  return { text: lines.join('\n'), files };
}

export interface MountScript {
  readonly text: string;
  /** Tables that the script reads, by their paths. */
  readonly files: ReadonlyMap<string, string>;
}

type Batch = readonly [MountStep, ...MountStep[]];

function batches(steps: readonly MountStep[]): readonly Batch[] {
  const result: [MountStep, ...MountStep[]][] = [];
  for (const step of steps) {
    const last = result.at(-1);
    const belongs = last !== undefined && last[0].kind === step.kind && BATCHED.has(step.kind);
    if (belongs && (step.kind !== 'copyLink' || parentOf(last[0].target) === parentOf(step.target))) last.push(step);
    else result.push([step]);
  }
  return result;
}

const BATCHED: ReadonlySet<MountStep['kind']> = new Set(['directory', 'file', 'copyLink', 'show']);

function commandOf(batch: Batch, table: string): string {
  const [first] = batch;
  const targets = batch.map(({ target }) => quote(target)).join(' ');
  switch (first.kind) {
    case 'tmpfs':
      return `mount -t tmpfs -o mode=0755 holdfast ${targets}`;
    case 'directory':
      return `mkdir -p ${targets}`;
    case 'file':
      return `touch ${targets}`;
    case 'copyLink': {
      const sources = batch.flatMap((step) => (step.kind === 'copyLink' ? [quote(step.source)] : []));
      return `cp -P -t ${quote(parentOf(first.target))} ${sources.join(' ')}`;
    }
    case 'show':
      return `mount -a -T ${quote(table)}`;
    case 'bind': {
      const bind = `mount --rbind ${quote(first.source)} ${targets}`;
      // The second form keeps what a user without rights over the machine may not take away.
      const protect = `{ mount -o remount,bind,ro ${targets} || mount -o remount,bind,ro,nosuid,nodev ${targets}; }`;
      return first.readOnly ? `${bind} && ${protect}` : bind;
    }
  }
}

/** In the form of fstab(5). What vanished since it was listed is left out. */
function tableOf(batch: Batch): string {
  const line = (step: MountStep): string[] =>
    step.kind === 'show' ? [`${escape(step.source)} ${escape(step.target)} none rbind,nofail 0 0\n`] : [];
  return batch.flatMap(line).join('');
}

const escape = (path: string): string =>
  path.replaceAll(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);

export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
