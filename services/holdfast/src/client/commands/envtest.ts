import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import { API_SERVER_FLAGS, createEtcdOf, describeFlags, ETCD_FLAGS, startApiServerOf } from '@holdfast/cluster/envtest';
import { describeError, OperatorError } from '@holdfast/platform';
import { describeFlags as describeSettings, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import type { Command, Terminal } from '../command.ts';
import { misuse } from '../misuse.ts';
import { askedToEnd } from '../signals.ts';

const ABOUT = `holdfast envtest DIR

Writes kube-apiserver, etcd and kubectl into DIR. They start Holdfast, so that suites that use envtest of controller-runtime run
with a scheduler, controllers, garbage collection and namespaces that end:

  export KUBEBUILDER_ASSETS=$(holdfast envtest DIR)

HOLDFAST_HOLLOW_NODES=3 adds nodes that simulate their pods. HOLDFAST_WITHOUT=scheduler,controllers omits parts.`;

/** The programs that envtest looks for. */
const PROGRAMS = new Map<string, (argv: readonly string[], terminal: Terminal) => Promise<number>>([
  ['kube-apiserver', serveApi],
  ['etcd', serveEtcd],
  ['kubectl', runKubectl],
]);

const SETTINGS = {
  json: { kind: 'boolean', help: 'Print a JSON document with "folder"' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

export const ENVTEST: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const [first, ...rest] = argv;
    const program = first === undefined ? undefined : PROGRAMS.get(first);
    if (program !== undefined) return program(rest, terminal);
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`${ABOUT}\n\n${describeSettings(SETTINGS).trimEnd()}`);
      return 0;
    }
    const [named] = words;
    if (named === undefined || words.length > 1) {
      throw misuse('envtest needs one directory', 'Name it, as in `holdfast envtest ./bin/envtest`.');
    }
    const folder = await writeLaunchers(path.resolve(named));
    terminal.print(settings.json ? JSON.stringify({ folder }) : folder);
    return 0;
  },
};

async function writeLaunchers(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true });
    for (const name of PROGRAMS.keys()) {
      const draft = path.join(folder, `.${name}.${process.pid}`);
      await writeFile(draft, launcherOf(name), { flag: 'wx' });
      await chmod(draft, 0o755);
      await rename(draft, path.join(folder, name));
    }
    return folder;
  } catch (cause) {
    throw new OperatorError({
      code: 'Launchers',
      message: `the programs cannot be written to ${folder}: ${describeError(cause)}`,
      nextStep: 'Choose another directory.',
      cause,
    });
  }
}

/** A shell replaces itself, so that signals reach the program. */
function launcherOf(name: string): string {
  const command = [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'envtest', name];
  return `#!/bin/sh\nHOLDFAST_ENVTEST_DIR="$(dirname "$0")" exec ${command.map(quoted).join(' ')} "$@"\n`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const isHelp = (argv: readonly string[]): boolean => argv.some((word) => word === '--help' || word === '-h');

async function serveApi(argv: readonly string[], { print, tell, env }: Terminal): Promise<number> {
  if (isHelp(argv)) {
    print(describeFlags('kube-apiserver', API_SERVER_FLAGS));
    return 0;
  }
  // First of all: whoever starts it may end it before it is ready.
  const ended = askedToEnd(process);
  const environment = { hollowNodes: env['HOLDFAST_HOLLOW_NODES'], without: env['HOLDFAST_WITHOUT'] };
  await using cluster = await startApiServerOf(argv, environment, (line) => tell(`kube-apiserver: ${line}`));
  tell(`kube-apiserver: Holdfast serves ${cluster.url}`);
  await ended;
  return 0;
}

async function serveEtcd(argv: readonly string[], { print }: Terminal): Promise<number> {
  if (isHelp(argv)) {
    print(describeFlags('etcd', ETCD_FLAGS));
    return 0;
  }
  const ended = askedToEnd(process);
  const etcd = createEtcdOf(argv);
  await etcd.start();
  await ended;
  await etcd.stop();
  return 0;
}

/** The kubectl of this machine: the next one in PATH that is not this launcher. */
function runKubectl(argv: readonly string[], { env }: Terminal): Promise<number> {
  const own = env['HOLDFAST_ENVTEST_DIR'];
  const program = (env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => folder !== '' && !isSame(folder, own))
    .map((folder) => path.join(folder, 'kubectl'))
    .find((file) => existsSync(file));
  if (program === undefined) {
    throw new OperatorError({
      code: 'NoKubectl',
      message: 'there is no kubectl in the PATH',
      nextStep: 'Install kubectl 1.32, or use the kubeconfig with another client.',
      exitCode: 127,
    });
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(program, argv, { env, stdio: 'inherit' });
  child.on('error', reject);
  child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  return promise;
}

const isSame = (folder: string, own: string | undefined): boolean =>
  own !== undefined && existsSync(folder) && existsSync(own) && realpathSync(folder) === realpathSync(own);
