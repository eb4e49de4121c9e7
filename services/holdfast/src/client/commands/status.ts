import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { ClusterHome, DEFAULT_NAME } from '../../local/cluster-home.ts';
import { examineCluster, textOfCluster } from '../cluster-status.ts';
import type { Command } from '../command.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  name: { kind: 'string', help: 'Name of the cluster', default: DEFAULT_NAME },
  json: { kind: 'boolean', help: 'Print one JSON document' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Says where a cluster of `up` is and how it is. Exit code 1: it does not run, or is not healthy; 2: there is none.';

export const STATUS: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast status [--name NAME]\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return 0;
    }
    if (words[0] !== undefined) throw misuse(`status does not know "${words[0]}"`, `Use --name ${words[0]}.`);
    const status = await examineCluster(new ClusterHome(settings.name, terminal.env), terminal);
    terminal.print(settings.json ? JSON.stringify(status) : textOfCluster(status, terminal.paint));
    return status.state === 'running' && status.health.length === 0 ? 0 : 1;
  },
};
