import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { ClusterHome, clusterHomes, DEFAULT_NAME } from '../../local/cluster-home.ts';
import { withClusterLock } from '../../local/command-lock.ts';
import { removeCluster, stopCluster } from '../../local/ending.ts';
import type { Command, Terminal } from '../command.ts';
import { explain } from '../explain.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  name: { kind: 'string', help: `Name of the cluster; default: ${DEFAULT_NAME}` },
  all: { kind: 'boolean', help: 'All named clusters of this user' },
  'keep-data': { kind: 'boolean', help: 'Keep its data directory for the next `up`' },
  json: { kind: 'boolean', help: 'Print one JSON document a line' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Ends a cluster that `up` started: its pods, its process, its context in your kubeconfig and its data directory.\n' +
  'A cluster that is not there is no error.';

export const DOWN: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast down [--name NAME | --all]\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return 0;
    }
    if (words[0] !== undefined) throw misuse(`down does not know "${words[0]}"`, `Use --name ${words[0]}.`);
    if (settings.all && settings.name !== undefined) throw misuse('--all and --name exclude each other', 'Give one.');
    const homes = settings.all
      ? clusterHomes(terminal.env)
      : [new ClusterHome(settings.name ?? DEFAULT_NAME, terminal.env)];
    let code = 0;
    for (const home of homes) {
      try {
        const outcome = await takeDown(home, settings['keep-data'], terminal);
        terminal.print(settings.json ? JSON.stringify({ name: home.name, outcome }) : TEXTS[outcome](home));
      } catch (error) {
        if (!settings.all) throw error;
        // One cluster must not keep the others alive.
        explain(error, terminal);
        code = 1;
      }
    }
    if (homes.length === 0 && !settings.json) terminal.print('There is no cluster.');
    return code;
  },
};

type Outcome = 'removed' | 'stopped' | 'absent';

const TEXTS: Readonly<Record<Outcome, (home: ClusterHome) => string>> = {
  removed: ({ name }) => `The cluster "${name}" is gone.`,
  stopped: ({ name, dataDirectory }) => `The cluster "${name}" is stopped; its data are in ${dataDirectory}.`,
  absent: ({ name }) => `There is no cluster "${name}".`,
};

async function takeDown(home: ClusterHome, keepsData: boolean, terminal: Terminal): Promise<Outcome> {
  if (home.read() === undefined) return 'absent';
  return withClusterLock(home, async () => {
    const record = home.read();
    if (record === undefined) return 'absent';
    await stopCluster(home, record, terminal);
    if (keepsData) return 'stopped';
    removeCluster(home);
    return 'removed';
  });
}
