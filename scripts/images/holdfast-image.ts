import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from './docker.ts';

const root = path.resolve(import.meta.dirname, '../..');
const TOOLCHAIN = ['scripts/lock-pnpm.mjs', 'scripts/pinned-packages.mjs', 'scripts/toolchain.json'];
const FILES = [
  'package.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'Dockerfile',
  'test/package.json',
  ...TOOLCHAIN,
];
const SOURCES = ['libs', 'services', 'scripts/sources'];

/** `holdfast:dev` of the sources as they are now. The dependencies are installed out here, so the build needs no network. */
export function buildHoldfastImage(): void {
  const context = mkdtempSync(path.join(tmpdir(), 'holdfast-context-'));
  try {
    for (const file of FILES) {
      mkdirSync(path.dirname(path.join(context, file)), { recursive: true });
      cpSync(path.join(root, file), path.join(context, file));
    }
    for (const folder of SOURCES) {
      cpSync(path.join(root, folder), path.join(context, folder), { recursive: true, filter: belongsToImage });
    }
    installDependencies(context);
    run('docker', ['build', '--quiet', '--network', 'none', '--tag', 'holdfast:dev', context], {
      env: { ...process.env, DOCKER_BUILDKIT: '0' },
    });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

function belongsToImage(file: string): boolean {
  return path.basename(file) !== 'node_modules' && !file.endsWith('.test.ts');
}

function installDependencies(context: string): void {
  const flags = [
    '--prod',
    '--frozen-lockfile',
    '--prefer-offline',
    '--reporter=silent',
    '--filter',
    '{services/**}...',
  ];
  const searchPath = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH']}`;
  const env = { ...process.env, CI: 'true', PATH: searchPath };
  const toolchain = mkdtempSync(path.join(tmpdir(), 'holdfast-pnpm-'));
  try {
    run(pinnedPnpm(toolchain, env), ['install', ...flags], { cwd: context, env });
  } finally {
    rmSync(toolchain, { recursive: true, force: true });
  }
}

/** npm refuses a pnpm with another hash than the one in scripts/toolchain.json. What npm has in its cache it does not ask for. */
function pinnedPnpm(folder: string, env: NodeJS.ProcessEnv): string {
  run(process.execPath, [path.join(root, 'scripts/lock-pnpm.mjs'), folder]);
  run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, env });
  return path.join(folder, 'node_modules', '.bin', 'pnpm');
}
