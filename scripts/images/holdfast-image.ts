import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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

/** Both are built from the sources; the image has no program that builds them. */
const JOINER = 'scripts/sources/bundle.mjs';
const BUNDLE = 'services/console/src/server/bundle-main.ts';
const CONSOLE_FILES = 'services/console/built';

const IMAGE = 'holdfast:dev';
const SOURCES_LABEL = 'io.holdfast.sources';

/**
 * `holdfast:dev` of the sources as they are now, unless it is that already. The dependencies are installed out here, so
 * the build needs a network only for packages of Debian that its base does not have.
 */
export function buildHoldfastImage({ network }: { readonly network: 'none' | 'default' }): void {
  const sources = hashOfSources();
  if (hashInImage() === sources) return;
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
    run(process.execPath, [BUNDLE, path.join(context, CONSOLE_FILES)], { cwd: root });
    run(process.execPath, [JOINER, context, '--image'], { cwd: root });
    const label = ['--label', `${SOURCES_LABEL}=${sources}`];
    run('docker', ['build', '--quiet', '--network', network, ...label, '--tag', IMAGE, context], {
      env: { ...process.env, DOCKER_BUILDKIT: '0' },
    });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

/** Everything that the image is made of: files with their names, and this Node. */
function hashOfSources(): string {
  const hash = createHash('sha256').update(`${process.version} ${process.arch}\n`);
  const inside = SOURCES.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
      .filter((file) => file.split(path.sep).every(belongsToImage)),
  );
  for (const file of [...FILES, ...inside].toSorted()) {
    const bytes = readFileSync(path.join(root, file));
    hash.update(`${file} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest('hex');
}

/** Empty when there is no such image. */
function hashInImage(): string {
  try {
    return run('docker', ['image', 'inspect', '--format', `{{index .Config.Labels "${SOURCES_LABEL}"}}`, IMAGE]).trim();
  } catch {
    return '';
  }
}

function belongsToImage(file: string): boolean {
  return !['node_modules', 'built'].includes(path.basename(file)) && !file.endsWith('.test.ts');
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
