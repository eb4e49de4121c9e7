import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from './docker.ts';

const root = path.resolve(import.meta.dirname, '../..');
const TOOLCHAIN = 'scripts/toolchain.json';
const FILES = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'Dockerfile', 'test/package.json', TOOLCHAIN];
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
  const { pnpm } = JSON.parse(readFileSync(path.join(root, TOOLCHAIN), 'utf8'));
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
  run('npx', ['--yes', `pnpm@${pnpm}`, 'install', ...flags], { cwd: context, env });
}
