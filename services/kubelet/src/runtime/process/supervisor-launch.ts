import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledModule } from '@holdfast/platform/sources';

/**
 * Starts the supervisor or the watchdog so that it outlives this process: a session of its own, no terminal, nothing of our environment.
 * Reading TypeScript directly costs a Node process about 18 MB of memory for as long as it lives, so the program is
 * written out as JavaScript first.
 */
export function launchProgram(stateDirectory: string, name: 'supervisor' | 'watchdog'): void {
  mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
  const program = programPath(stateDirectory, name);
  const log = openSync(join(stateDirectory, `${name}.log`), 'a', 0o600);
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=0', program, stateDirectory],
    { cwd: stateDirectory, env: {}, detached: true, stdio: ['ignore', log, log] },
  );
  closeSync(log);
  // The caller has its own deadline and retries then.
  child.on('error', () => undefined);
  child.unref();
}

/** Files of the parent directory that they import. */
const SHARED = [
  'port',
  'fencing-deadline',
  'class-cgroups',
  'pod-directories',
  'log-limits',
  'beneath',
  'helpers',
] as const;

/** The supervisor starts the last one, which lies beside it. */
const PROGRAMS = ['supervisor-main', 'watchdog-main', 'view-worker-main'] as const;

function programPath(stateDirectory: string, name: string): string {
  const here = dirname(fileURLToPath(import.meta.url));
  if (!import.meta.url.endsWith('.ts')) return join(here, `${name}-main.js`);
  const target = join(stateDirectory, 'supervisor');
  mkdirSync(join(target, 'process'), { recursive: true, mode: 0o700 });
  const isJoined = PROGRAMS.every((each) =>
    copyJoined(new URL(`./${each}.ts`, import.meta.url), join(target, 'process', `${each}.mjs`)),
  );
  if (!isJoined) writeSources(here, target);
  return join(target, 'process', `${name}-main.mjs`);
}

/** False: this process has no bundle (scripts/sources), in which the program is one file. */
export function copyJoined(source: URL, target: string): boolean {
  const joined = bundledModule(source);
  if (joined !== undefined) replaceFile(target, readFileSync(joined, 'utf8'));
  return joined !== undefined;
}

function writeSources(here: string, target: string): void {
  for (const shared of SHARED) writeProgram(join(here, '..', `${shared}.ts`), join(target, `${shared}.mjs`));
  for (const file of readdirSync(here)) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
    writeProgram(join(here, file), join(target, 'process', `${basename(file, '.ts')}.mjs`));
  }
}

export function writeProgram(source: string, target: string): void {
  const code = stripTypeScriptTypes(readFileSync(source, 'utf8')).replace(/(from '\.[^']*)\.ts'/g, "$1.mjs'");
  replaceFile(target, code);
}

/** By a rename: a supervisor that starts at the same moment reads the old or the new file. */
function replaceFile(target: string, code: string): void {
  const temporary = `${target}.${process.pid}`;
  writeFileSync(temporary, code, { mode: 0o600 });
  renameSync(temporary, target);
}
