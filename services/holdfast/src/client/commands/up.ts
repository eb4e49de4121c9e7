import { once } from 'node:events';
import { OperatorError } from '@holdfast/platform';
import { type Arguments, describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { readStartConfig, START_SETTINGS } from '../../config.ts';
import { ClusterHome, contextOf, DEFAULT_NAME, withoutProcess } from '../../local/cluster-home.ts';
import { withClusterLock } from '../../local/command-lock.ts';
import { shareContext } from '../../local/context.ts';
import { stopCluster } from '../../local/ending.ts';
import type { Launched, StepLine } from '../../local/launch.ts';
import { flagsOfOthers, leavesOut } from '../../local/start-flags.ts';
import { type StartedCluster, type StartingDeps, startNamed } from '../../local/starting.ts';
import { checkKubeconfig, userKubeconfig } from '../../local/user-kubeconfig.ts';
import type { Command, Terminal } from '../command.ts';
import { misuse } from '../misuse.ts';
import { type Paint, PLAIN } from '../terminal/paint.ts';
import { barOf } from '../terminal/work.ts';

const OWN_SETTINGS = {
  name: { kind: 'string', help: 'Name of the cluster', default: DEFAULT_NAME },
  detach: { kind: 'boolean', short: 'd', help: 'Run in the background; returns when the cluster is ready' },
  merge: {
    kind: 'boolean',
    help: 'Add the context holdfast-NAME to your kubeconfig (KUBECONFIG, else ~/.kube/config)',
  },
  switch: { kind: 'boolean', help: 'Make it the current context, too' },
  json: { kind: 'boolean', help: 'Print one JSON document a line' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const { 'data-dir': _named, json: _json, help: _help, ...SERVER_SETTINGS } = START_SETTINGS;
const SETTINGS = { ...SERVER_SETTINGS, ...OWN_SETTINGS };
type UpSettings = Arguments<typeof SETTINGS>['settings'];

const ABOUT =
  'Starts a named cluster, or continues it with the data that it has, at a free port of its own; several run side by side.\n' +
  'Without -d it ends with Ctrl-C and keeps its data. `holdfast down` ends it and removes everything.';

export const UP: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    if (argv.some((each) => /^--data-dir(?:=|$)/.test(each))) {
      throw misuse(
        'a named cluster has a data directory of its own',
        'Use --name, or `holdfast start --data-dir DIR`.',
      );
    }
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(
        `holdfast up [flags] [flags of start]\n\n${ABOUT}\n\n${describeFlags(OWN_SETTINGS)}\nFlags of start:\n${describeFlags(SERVER_SETTINGS).trimEnd()}`,
      );
      return 0;
    }
    if (words[0] !== undefined) throw misuse(`up does not know "${words[0]}"`, 'Use flags; --help lists them.');
    const home = new ClusterHome(settings.name, terminal.env);
    const flags = flagsOfOthers(argv, OWN_SETTINGS, SERVER_SETTINGS);
    // A mistake is reported before anything begins.
    readStartConfig({ argv: flags, env: terminal.env });
    const started = await withClusterLock(home, () => bringUp(home, flags, settings, terminal));
    if (settings.detach || started.begun === undefined) {
      started.begun?.launched.child.unref();
      return 0;
    }
    return inForeground(home, started.begun.launched, terminal);
  },
};

async function bringUp(
  home: ClusterHome,
  flags: readonly string[],
  settings: UpSettings,
  terminal: Terminal,
): Promise<StartedCluster> {
  const { clock, env, print } = terminal;
  const onStep = (step: StepLine): void => {
    print(settings.json ? JSON.stringify(step) : lineOfStep(step));
    terminal.live?.show(step.number < step.of ? barOf('starting', step.number, step.of) : '');
  };
  const file = settings.merge || settings.switch ? userKubeconfig(env) : undefined;
  if (file !== undefined) checkKubeconfig(file);
  const wish = { flags, detached: settings.detach };
  terminal.live?.show('starting the server');
  const deps = (signal: AbortSignal): StartingDeps => ({ clock, env, here: process.cwd(), onStep, signal });
  const started = await unlessInterrupted((signal) => startNamed(home, wish, deps(signal))).finally(() =>
    terminal.live?.show(''),
  );
  const context = { file, makeCurrent: settings.switch, clock };
  const record = await shareContext(home, started.record, context).catch(async (error: unknown) => {
    if (started.begun !== undefined) await stopCluster(home, started.record, terminal);
    throw error;
  });
  const told = { ...started, record };
  const shown = { merged: file, isCurrent: settings.switch, paint: terminal.paint ?? PLAIN };
  print(settings.json ? JSON.stringify(documentOf(home, told)) : textOf(home, told, shown));
  return told;
}

/** A server in the background does not hear Ctrl-C: its start has to be given up here. */
async function unlessInterrupted<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const stopListening = (): void => {
    for (const signal of signals) process.off(signal, interrupt);
  };
  // A second signal ends this command at once.
  const interrupt = (): void => {
    stopListening();
    interruption.abort();
  };
  for (const signal of signals) process.on(signal, interrupt);
  try {
    return await run(interruption.signal);
  } finally {
    stopListening();
  }
}

const lineOfStep = ({ number, of, title, ms }: StepLine): string =>
  `[${number}/${of}] ${title.padEnd(34)} ${ms.toFixed(0).padStart(5)} ms`;

function documentOf(home: ClusterHome, { record, begun }: StartedCluster): object {
  return {
    event: 'ready',
    name: home.name,
    url: record.url,
    kubeconfig: home.kubeconfig,
    contexts: record.mergedInto.map((file) => ({ file, context: contextOf(home.name) })),
    log: home.log,
    pid: record.process?.pid,
    alreadyRan: begun === undefined,
    warnings: begun?.ready.warnings ?? [],
    ...(begun?.ready.began === undefined ? {} : { began: begun.ready.began }),
  };
}

interface Shown {
  readonly merged: string | undefined;
  readonly isCurrent: boolean;
  readonly paint: Paint;
}

function textOf(home: ClusterHome, { record, begun }: StartedCluster, { merged, isCurrent, paint }: Shown): string {
  const kubectl = kubectlOf(home, merged, isCurrent);
  const name = home.name === DEFAULT_NAME ? '' : ` --name ${home.name}`;
  const head =
    begun === undefined
      ? `The cluster "${home.name}" runs already.`
      : `\nThe cluster "${home.name}" is ${paint.good('ready')} after ${(begun.ready.startupMs / 1000).toFixed(2)} s.`;
  return [
    head,
    ...(begun?.ready.warnings ?? []).map((warning) => `  ${paint.caution('Warning')}     ${warning}`),
    ...(begun?.ready.began === undefined ? [] : [`  Began with  ${begun.ready.began}`]),
    `  API         ${record.url}`,
    `  Kubeconfig  ${home.kubeconfig}`,
    ...(merged === undefined
      ? []
      : [`  Context     ${contextOf(home.name)} in ${merged}${isCurrent ? ' (current)' : ''}`]),
    `  Log         ${home.log}`,
    `  Next        ${paint.strong(`${kubectl} get pods -A`)}`,
    ...(leavesOut(record.flags, 'console') ? [] : [`  Console     holdfast ui${name}`]),
    `  End         holdfast down${name}`,
  ].join('\n');
}

function kubectlOf(home: ClusterHome, merged: string | undefined, isCurrent: boolean): string {
  if (merged === undefined) return `kubectl --kubeconfig ${home.kubeconfig}`;
  return isCurrent ? 'kubectl' : `kubectl --context ${contextOf(home.name)}`;
}

/** Waits for the end of the server, and passes signals on. The data stay. */
async function inForeground(home: ClusterHome, { child, identity }: Launched, terminal: Terminal): Promise<number> {
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, pass);
  terminal.tell('Ctrl-C stops it.');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  for (const signal of signals) process.off(signal, pass);
  try {
    await withClusterLock(home, async () => {
      const record = home.read();
      if (record?.process?.pid !== identity.pid) return;
      // One that stopped in order has left no pods, so no other server has to look for them.
      await stopCluster(home, child.exitCode === 0 ? withoutProcess(record) : record, terminal);
    });
  } catch (error) {
    // The command that ends it does the rest.
    if (!(error instanceof OperatorError && error.code === 'ClusterBusy')) throw error;
  }
  return child.exitCode ?? 1;
}
