import { spawn, spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { unpackFromNextDebian } from './next-debian.ts';
import { busybox, ensureMissing, ensurePackages, findOnPath } from './packages.ts';

const ENGINE_START_DEADLINE_MS = 60_000;

/** Makes sure that a Docker Engine answers and that `docker compose` is version 2; installs and starts what is missing. */
export function ensureDocker(): void {
  if (findOnPath('docker') === undefined) ensurePackages(['docker.io']);
  if (!engineAnswers()) startEngine();
  if (!composeAnswers()) installComposePlugin();
}

/** For tests that start an engine of their own, with images of their own. */
export function ensureDockerPrograms(): void {
  ensureMissing([
    ['docker.io', findOnPath('docker') !== undefined && findOnPath('dockerd') !== undefined],
    ['iptables', findOnPath('iptables') !== undefined],
    busybox(),
  ]);
}

function engineAnswers(): boolean {
  return spawnSync('docker', ['info', '--format', '{{.ServerVersion}}']).status === 0;
}

function composeAnswers(): boolean {
  return /^v?2\.|^v?[3-9]\./.test(
    spawnSync('docker', ['compose', 'version', '--short'], { encoding: 'utf8' }).stdout ?? '',
  );
}

/** Starts dockerd detached: it serves the whole test run and whatever comes after it, as a system service would. */
function startEngine(): void {
  if (findOnPath('dockerd') === undefined) ensurePackages(['docker.io', 'iptables']);
  const dockerd = findOnPath('dockerd');
  if (dockerd === undefined || process.getuid?.() !== 0) {
    throw new Error('no Docker Engine answers and it cannot be started here. Start Docker and run the tests again.');
  }
  const logFile = path.join(tmpdir(), 'holdfast-dockerd.log');
  const log = openSync(logFile, 'a');
  spawn(dockerd, [], { detached: true, stdio: ['ignore', log, log] }).unref();
  const deadline = Date.now() + ENGINE_START_DEADLINE_MS;
  while (!engineAnswers()) {
    if (Date.now() > deadline) throw new Error(`dockerd did not answer in time. Look into ${logFile}.`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  }
}

/** Debian's stable release has only version 1. */
function installComposePlugin(): void {
  unpackFromNextDebian({
    suite: 'trixie',
    packageName: 'docker-compose',
    file: 'usr/libexec/docker/cli-plugins/docker-compose',
    target: path.join(homedir(), '.docker', 'cli-plugins', 'docker-compose'),
    byHand: 'Install the Docker Compose plugin (version 2) and run the tests again.',
  });
}
