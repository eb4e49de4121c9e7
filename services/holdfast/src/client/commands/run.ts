import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from '@holdfast/cluster';
import { OperatorError } from '@holdfast/platform';
import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { exitCodeOf } from '../child-command.ts';
import type { Command, Terminal } from '../command.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  'hollow-nodes': { kind: 'integer', help: 'Nodes with simulated pods', default: 1, min: 0, max: 1_000 },
  'process-nodes': { kind: 'integer', help: 'Nodes whose pods are processes', default: 0, min: 0, max: 50 },
  from: { kind: 'string', help: 'A snapshot file to continue from' },
  json: { kind: 'boolean', help: 'On standard error: one JSON document when it is ready, and one at the end' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Starts a cluster in memory, runs the command with KUBECONFIG set, stops the cluster, and exits with the code of the\n' +
  'command. Signals reach the command.';

export const RUN: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(
        `holdfast run [flags] -- <command> [arguments]\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`,
      );
      return 0;
    }
    const [program, ...args] = words;
    if (program === undefined || program === '')
      throw misuse('no command is given', 'Write it after --, as in `run -- go test ./...`.');
    const from = settings.from === undefined ? {} : { from: settings.from };
    const nodes = { hollowNodes: settings['hollow-nodes'], processNodes: settings['process-nodes'] };
    await using cluster = await started({ ...from, ...nodes, https: true }, terminal);
    const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-run-'));
    try {
      const kubeconfig = path.join(folder, 'kubeconfig');
      await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
      const report = (document: object): void => void (settings.json && terminal.tell(JSON.stringify(document)));
      report({ event: 'ready', url: cluster.url, kubeconfig });
      const end = await endOf(program, args, { ...terminal.env, KUBECONFIG: kubeconfig }, settings.json);
      report({ event: 'end', ...end });
      return end.code;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface End {
  readonly code: number;
  /** Why the command could not be started. */
  readonly message?: string;
  readonly nextStep?: string;
}

/** With `isDocument` a command that cannot be started has an end, too: its message is no line between documents. */
async function endOf(
  program: string,
  args: readonly string[],
  env: Terminal['env'],
  isDocument: boolean,
): Promise<End> {
  try {
    return { code: await exitCodeOf(program, args, env) };
  } catch (error) {
    if (!isDocument || !(error instanceof OperatorError)) throw error;
    const { exitCode: code, message, nextStep } = error;
    return { code, message, nextStep };
  }
}

async function started(options: Parameters<typeof startCluster>[0], { live }: Terminal): Promise<Cluster> {
  live?.show('starting a cluster');
  try {
    return await startCluster(options);
  } finally {
    live?.show('');
  }
}
