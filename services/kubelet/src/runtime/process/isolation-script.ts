import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { UserRange } from '../../domain/user-ranges.ts';
import { makeBeneath, makeFileBeneath } from '../beneath.ts';
import { helper } from '../helpers.ts';
import type { ContainerConfig, SandboxConfig } from '../port.ts';
import { dropRights, enterAs, isRoot, START_TOLD, TELL_FAILURE } from './become.ts';
import { PROCESSES_OPTIONS } from './isolation.ts';
import { machineFiles } from './machine-files.ts';
import {
  fstabPath,
  hiddenTargets,
  type MadeEntry,
  type MountEntry,
  mountTable,
  planMounts,
  quote,
} from './mount-plan.ts';
import type { NodeIsolation } from './node-isolation.ts';
import { becomePodRoot, preparePodRoot } from './user-namespace.ts';

export interface IsolationRequest {
  readonly config: ContainerConfig;
  readonly sandbox: Pick<SandboxConfig, 'hostname' | 'userRange'>;
  readonly node: NodeIsolation;
}

/**
 * Writes a script that mounts the volumes and then becomes the container's command, with the same process number.
 * It reports earlier errors on file descriptor 3 and closes it on success. It is a file because a directory with many
 * entries would not fit into one argument.
 */
export function writeIsolationScript(directory: string, { config, sandbox, node }: IsolationRequest): string {
  const root = join(directory, 'root');
  const { hostname, userRange } = sandbox;
  const plan = planMounts({ root, directory }, config.mounts ?? [], machineFiles);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  for (const entry of plan.made) make(entry);
  const lines = [
    TELL_FAILURE,
    ...(userRange === undefined ? [] : [preparePodRoot(directory, userRange)]),
    nameHost(hostname),
    ...mountLines({ root, directory, mounts: plan.mounts, node }),
    become(config, userRange),
    '',
  ];
  const script = join(directory, 'start.sh');
  writeFileSync(script, lines.join('\n'), { mode: 0o600 });
  return script;
}

function become(config: ContainerConfig, userRange: UserRange | undefined): string {
  const enter = isRoot() ? enterAs(config, userRange) : [helper('chroot'), '.', ...dropRights()];
  const words = `${enter.map(quote).join(' ')} /bin/sh -c ${quote(START_TOLD)} holdfast "$@"`;
  return userRange === undefined ? `exec ${words}` : becomePodRoot(`exec ${words}`);
}

interface Mounting {
  readonly root: string;
  readonly directory: string;
  readonly mounts: readonly MountEntry[];
  readonly node: NodeIsolation;
}

/**
 * One program mounts everything at places that only root can change. Mounts in trees that pods write are opened first
 * and mounted through the descriptor: between a check and a mount by name, a pod could put a link there. Directories
 * are hidden last.
 */
function mountLines({ root, directory, mounts, node }: Mounting): readonly string[] {
  const staged = mounts.map((entry, index) => stage(directory, entry, index));
  const shown = staged.map(({ entry }) => entry).filter(({ source }) => source !== '/proc' || !node.hidesProcesses);
  const own = node.hidesProcesses ? `proc ${fstabPath(`${root}/proc`)} proc ${PROCESSES_OPTIONS} 0 0\n` : '';
  const hides = hiddenTargets(root, node.hidden, mounts)
    .map((path) => `holdfast-hidden ${fstabPath(path)} tmpfs ${HIDDEN_OPTIONS} 0 0\n`)
    .join('');
  const pins = staged.flatMap(({ pin }) => pin);
  const targets = staged
    .filter(({ entry, target }) => entry.target !== target)
    .map(({ entry, target }) => mountAt(entry.target, target));
  const tableOf = (name: string, text: string): string => mountAll(writeTable(join(directory, name), text));
  const table = mountTable(shown, !isRoot()) + own;
  const tables =
    targets.length === 0
      ? [tableOf('mounts', table + hides)]
      : [tableOf('mounts', table), ...targets, tableOf('hidden', hides)];
  const enter = `cd ${quote(root)} || fail "the container has no root directory"`;
  return pins.length + targets.length === 0 ? [...tables, enter] : [PIN, ...pins, ...tables, 'exec 7<&-', enter];
}

const HIDDEN_OPTIONS = 'ro,nosuid,nodev,noexec,size=4k,nr_inodes=2,mode=0555';

type Kind = 'directory' | 'file';

const statKind = (path: string): Kind => (statSync(path).isDirectory() ? 'directory' : 'file');

interface Staged {
  /** An entry of the mount table: nobody can swap its paths. */
  readonly entry: MountEntry;
  /** Its final place. */
  readonly target: string;
  /** Lines that come before the table. */
  readonly pin: readonly string[];
}

/** Temporary places for mounts that cannot go to their final place directly. */
function stage(directory: string, entry: MountEntry, index: number): Staged {
  const { isSourceOpen, isTargetOpen, source, target } = entry;
  if (isSourceOpen === undefined && isTargetOpen === undefined) return { entry, target, pin: [] };
  const kind = entry.isDirectory === undefined ? statKind(source) : entry.isDirectory ? 'directory' : 'file';
  const place = (what: string): string => makePlace(join(directory, `${what}-${index}`), kind);
  const from = isSourceOpen === undefined ? source : place('source');
  const to = isTargetOpen === undefined ? target : place('target');
  const pin =
    from === source ? [] : [`pin_${kind} ${quote(source)}`, `${BIND} /proc/self/fd/7 ${quote(from)} || ${UNMOUNTED}`];
  return { entry: { ...entry, source: from, target: to }, target, pin };
}

function makePlace(path: string, kind: Kind): string {
  if (kind === 'directory') mkdirSync(path, { recursive: true });
  else closeSync(openSync(path, 'a', 0o600));
  return path;
}

const mountAt = (source: string, target: string): string =>
  `pin_${statKind(source)} ${quote(target)}\n${BIND} ${quote(source)} /proc/self/fd/7 || ${UNMOUNTED}`;

const BIND = `${helper('mount')} -c --rbind`;
const UNMOUNTED = 'fail "cannot mount the volumes of the container"';

/** `pin_directory <path>` opens it as descriptor 7 if no link leads there, and fails otherwise. */
const PIN = [
  'pinned() { fail "cannot mount the volumes of the container: a link leads away from $1"; }',
  'pin_directory() { cd -P "$1" 2>/dev/null && [ "$PWD" = "$1" ] || pinned "$1"; command exec 7<. || pinned "$1"; cd /; }',
  'pin_file() {',
  '  cd -P "${1%/*}" 2>/dev/null && [ "$PWD" = "${1%/*}" ] && [ ! -L "./${1##*/}" ] && [ -e "./${1##*/}" ] || pinned "$1"',
  `  command exec 7<"./\${1##*/}" || pinned "$1"; [ "$(${helper('readlink')} /proc/self/fd/7)" = "$1" ] || pinned "$1"; cd /`,
  '}',
].join('\n');

function writeTable(path: string, text: string): string {
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** The program itself reports failed mounts. */
const mountAll = (table: string): string =>
  `said=$(${helper('mount')} -a -T ${quote(table)} 2>&1) || fail "cannot mount the volumes of the container: $said"`;

function make(entry: MadeEntry): void {
  switch (entry.kind) {
    case 'directory':
      mkdirSync(entry.path, { recursive: true, mode: 0o755 });
      if (entry.like !== undefined) chmodSync(entry.path, statSync(entry.like).mode & 0o7777);
      return;
    case 'file':
      return closeSync(openSync(entry.path, 'a', 0o644));
    case 'mountPoint':
      return makeMountPoint(entry);
    case 'copyLink':
      // A start that was cut off may have left it.
      if (lstatSync(entry.path, { throwIfNoEntry: false }) === undefined)
        symlinkSync(readlinkSync(entry.from), entry.path);
  }
}

function makeMountPoint({ root, path, isDirectory }: Extract<MadeEntry, { kind: 'mountPoint' }>): void {
  const names = path.split('/').filter((name) => name !== '');
  if (isDirectory) makeBeneath(root, names, 0o755);
  else makeFileBeneath(root, names, 0o644);
}

/** The second way is for machines that show their settings read-only, as containers do. Nothing depends on it but a name. */
const nameHost = (hostname: string): string =>
  `{ printf %s ${quote(hostname)} > /proc/sys/kernel/hostname; } 2>/dev/null || ${helper('hostname')} ${quote(hostname)} 2>/dev/null || :`;
