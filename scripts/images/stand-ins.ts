import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runApt } from '../../tools/setup/apt.ts';
import { ensurePrograms, findOnPath } from '../../tools/setup/packages.ts';
import { run } from './docker.ts';

/** An image with the name of an official one, made of Debian packages: enough of it for docker-compose.yml. */
export interface StandIn {
  readonly image: string;
  readonly packages: readonly string[];
  /** Puts what no package brings into the file system. */
  readonly finish: (rootfs: string) => void;
  readonly command: readonly string[];
}

/** A shell and the usual tools. */
const BASE = [
  'base-files',
  'base-passwd',
  'bash',
  'coreutils',
  'dash',
  'findutils',
  'grep',
  'hostname',
  'procps',
  'sed',
];
const SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const NODE_IMAGE = 'node:24.21.0-bookworm-slim';

export const STAND_INS: readonly StandIn[] = [
  {
    image: NODE_IMAGE,
    packages: [...BASE, 'libstdc++6', 'util-linux', 'bsdutils', 'mount', 'iproute2', 'nftables', 'perl-base'],
    command: ['node'],
    finish: (rootfs) => copyFileSync(process.execPath, path.join(rootfs, 'usr/local/bin/node')),
  },
  {
    image: 'redis:7.0.15',
    packages: [...BASE, 'redis-server'],
    command: ['redis-server'],
    finish: (rootfs) => mkdirSync(path.join(rootfs, 'data')),
  },
  {
    image: 'nats:2.9.10-alpine',
    packages: [...BASE, 'nats-server', 'busybox-static'],
    command: ['nats-server'],
    finish: (rootfs) => symlinkSync('/bin/busybox', path.join(rootfs, 'usr/local/bin/wget')),
  },
  {
    image: 'nats:2.15.1-alpine',
    packages: [...BASE, 'busybox-static'],
    command: ['nats-server'],
    finish: (rootfs) => {
      ensurePrograms(['nats-server-next']);
      const program = findOnPath('nats-server-next') ?? 'nats-server-next';
      copyFileSync(program, path.join(rootfs, 'usr/local/bin/nats-server'));
      symlinkSync('/bin/busybox', path.join(rootfs, 'usr/local/bin/wget'));
    },
  },
];

const STAND_IN_LABEL = 'io.holdfast.stand-in';

/** What a stand-in is made of; one of other packages is built again. */
const contentsOf = ({ packages }: StandIn): string => packages.join('_');

export type ImageKind = 'official' | 'stand-in' | 'old stand-in' | 'absent';

/** An image without our mark is official when it has the digest of a registry. */
export function kindOfImage(standIn: StandIn): ImageKind {
  const format = `{{len .RepoDigests}} {{index .Config.Labels "${STAND_IN_LABEL}"}}`;
  const [digests = '', contents = ''] = tryInspect(standIn.image, format).split(' ');
  if (digests === '') return 'absent';
  if (contents === contentsOf(standIn)) return 'stand-in';
  return contents === '' && digests !== '0' ? 'official' : 'old stand-in';
}

function tryInspect(image: string, format: string): string {
  try {
    return run('docker', ['image', 'inspect', '--format', format, image]).trim();
  } catch {
    return '';
  }
}

export function buildStandIn(standIn: StandIn): void {
  const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-image-'));
  try {
    const rootfs = path.join(scratch, 'rootfs');
    createRootfs(rootfs);
    for (const archive of downloadPackages(standIn.packages, scratch)) unpack(archive, rootfs);
    completeRootfs(rootfs);
    standIn.finish(rootfs);
    importImage(standIn, rootfs);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Debian's merged layout: packages ship files for /bin and /lib, which lead into /usr. */
function createRootfs(rootfs: string): void {
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(path.join(rootfs, 'usr', folder), { recursive: true });
    symlinkSync(`usr/${folder}`, path.join(rootfs, folder));
  }
  for (const folder of ['dev', 'etc', 'proc', 'sys', 'tmp', 'usr/local/bin', 'var']) {
    mkdirSync(path.join(rootfs, folder), { recursive: true });
  }
}

/**
 * The packages with everything they depend on, resolved by apt as if nothing were installed, from the sources that this
 * machine uses. The machine's own package state is not touched.
 */
function downloadPackages(packages: readonly string[], scratch: string): readonly string[] {
  const archives = path.join(scratch, 'archives');
  mkdirSync(path.join(archives, 'partial'), { recursive: true });
  const status = path.join(scratch, 'status');
  writeFileSync(status, '');
  const options = [
    `Dir::State::status=${status}`,
    `Dir::Cache::archives=${archives}`,
    'APT::Install-Recommends=0',
    'APT::Sandbox::User=root',
    'Debug::NoLocking=1',
  ].flatMap((option) => ['-o', option]);
  runApt(
    [
      ['update', '-q'],
      [...options, '-y', '--download-only', 'install', ...packages],
    ],
    { byHand: 'Check that the Debian mirror of this machine can be reached, then try again.' },
  );
  return readdirSync(archives)
    .filter((file) => file.endsWith('.deb'))
    .sort()
    .map((file) => path.join(archives, file));
}

/** Files only: no maintainer script runs. */
function unpack(archive: string, rootfs: string): void {
  const tarOptions = '--extract --keep-directory-symlink --no-same-owner';
  run('sh', ['-c', `dpkg-deb --fsys-tarfile "$1" | tar ${tarOptions} --directory "$2"`, 'sh', archive, rootfs]);
}

/** Writes the files that scripts of the base packages would have written. */
function completeRootfs(rootfs: string): void {
  const write = (file: string, text: string): void => writeFileSync(path.join(rootfs, file), text);
  write('etc/passwd', 'root:x:0:0:root:/root:/bin/bash\n');
  write('etc/group', 'root:x:0:\n');
  write('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n');
  if (!readdirSync(path.join(rootfs, 'usr/bin')).includes('sh')) symlinkSync('dash', path.join(rootfs, 'usr/bin/sh'));
  run('chmod', ['1777', path.join(rootfs, 'tmp')]);
}

function importImage(standIn: StandIn, rootfs: string): void {
  const label = `LABEL ${STAND_IN_LABEL}=${contentsOf(standIn)}`;
  const changes = [`ENV PATH=${SEARCH_PATH}`, `CMD ${JSON.stringify(standIn.command)}`, label];
  const flags = changes.flatMap((change) => ['--change', change]);
  const pack = 'tar --create --owner=0 --group=0 --numeric-owner --directory "$1" . | docker import';
  const imported = `${pack} ${flags.map(quote).join(' ')} - ${quote(standIn.image)}`;
  run('sh', ['-c', imported, 'sh', rootfs]);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
