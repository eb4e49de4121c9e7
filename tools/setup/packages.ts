import { existsSync } from 'node:fs';
import path from 'node:path';
import { runApt } from './apt.ts';
import { unpackFirstThatStarts, unpackFromNextDebian } from './next-debian.ts';

/** Programs that tests start. The servers, the shells and the browser are Debian packages of the same name. */
export type Program = 'redis-server' | 'nats-server' | 'nats-server-next' | 'kubectl' | 'chromium' | 'fish' | 'zsh';

/** Programs that were unpacked, not installed: behind everything else on the PATH of the tests. */
export const OWN_PROGRAMS = path.resolve(import.meta.dirname, '../../.toolchain/bin');

/** Makes sure that every program can be started: uses what is on PATH, else gets it from Debian's packages. */
export function ensurePrograms(programs: readonly Program[]): void {
  const missing = programs.filter((program) => findOnPath(program) === undefined);
  const packages = missing.filter((program) => program !== 'kubectl' && program !== 'nats-server-next');
  if (packages.length > 0) ensurePackages(packages);
  if (missing.includes('kubectl')) unpackKubectl();
  if (missing.includes('nats-server-next')) unpackNatsServer();
}

/**
 * The log of deployment H needs a server that syncs before it acknowledges; Debian's stable release has 2.9. The testing
 * release has the one to use, until it needs a newer system than this; then 2.10 of the release before it.
 */
function unpackNatsServer(): void {
  const wanted = {
    packageName: 'nats-server',
    file: 'usr/sbin/nats-server',
    target: path.join(OWN_PROGRAMS, 'nats-server-next'),
    byHand: 'Put nats-server 2.12.8 or later on the PATH as nats-server-next and run the tests again.',
  };
  unpackFirstThatStarts([
    { ...wanted, suite: 'forky' },
    { ...wanted, suite: 'trixie' },
  ]);
}

/** Debian's stable release has 1.20, which knows half of what the tests ask. */
function unpackKubectl(): void {
  unpackFromNextDebian({
    packageName: 'kubectl',
    suite: 'trixie',
    file: 'usr/bin/kubectl',
    target: path.join(OWN_PROGRAMS, 'kubectl'),
    byHand: 'Install kubectl 1.32 and run the tests again.',
  });
}

/** Installs Debian packages, or prints what to install by hand. */
export function ensurePackages(packages: readonly string[]): void {
  const byHand = `Install ${packages.join(', ')} and run the tests again.`;
  if (findOnPath('apt-get') === undefined || process.getuid?.() !== 0) {
    throw new Error(
      `${packages.join(', ')} is missing, and only root on a Debian-like system can install it here. ${byHand}`,
    );
  }
  installFromApt(packages, byHand);
}

type Wanted = readonly [packageName: string, isThere: boolean];

/** The stuff of test images. */
export const busybox = (): Wanted => ['busybox-static', existsSync('/usr/share/doc/busybox-static')];

/** Installs the packages that are not there. */
export function ensureMissing(wanted: readonly Wanted[]): void {
  const missing = wanted.filter(([, isThere]) => !isThere).map(([packageName]) => packageName);
  if (missing.length > 0) ensurePackages(missing);
}

/** For what is loaded into processes of tests. */
export const ensureCompiler = (): void =>
  ensureMissing([
    ['gcc', findOnPath('gcc') !== undefined],
    ['libc6-dev', existsSync('/usr/include/stdio.h')],
  ]);

export function findOnPath(program: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin', '/sbin', OWN_PROGRAMS];
  return folders.map((folder) => path.join(folder, program)).find((file) => existsSync(file));
}

function installFromApt(packages: readonly string[], byHand: string): void {
  process.stdout.write(`installing ${packages.join(', ')}\n`);
  runApt(
    [
      ['update', '-q'],
      ['install', '-y', '-q', '--no-install-recommends', ...packages],
    ],
    { byHand },
  );
}
