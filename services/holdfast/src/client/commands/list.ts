import { humanDuration } from '@holdfast/api';
import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { clusterHomes } from '../../local/cluster-home.ts';
import { examineCluster } from '../cluster-status.ts';
import type { Command } from '../command.ts';
import { misuse } from '../misuse.ts';
import { inLines } from '../table.ts';
import { type Paint, PLAIN } from '../terminal/paint.ts';

const SETTINGS = {
  json: { kind: 'boolean', help: 'Print one JSON document a line' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT = 'Lists the clusters of `up`, also those that are stopped.';
const HEAD = ['NAME', 'STATE', 'NODES', 'VERSION', 'AGE', 'ADDRESS'];

export const LIST: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast list\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return;
    }
    if (words[0] !== undefined) throw misuse(`list does not know "${words[0]}"`, 'For objects there is `get`.');
    const all = await Promise.all(clusterHomes(terminal.env).map((home) => examineCluster(home, terminal)));
    if (settings.json) for (const each of all) terminal.print(JSON.stringify(each));
    else if (all.length === 0) terminal.tell('There is no cluster. `holdfast up -d` starts one.');
    else {
      const rows = all.map(({ name, state, nodes, version, ageSeconds, address }) => [
        name,
        state,
        nodes === undefined ? '-' : `${nodes.ready}/${nodes.total}`,
        version ?? '-',
        humanDuration(ageSeconds * 1000),
        address ?? '-',
      ]);
      const { paint = PLAIN } = terminal;
      const coloured = (text: string, row: number, column: number): string =>
        row === 0 ? paint.strong(text) : column === STATE_COLUMN ? paintOfState(text, paint) : text;
      for (const line of inLines([HEAD, ...rows], coloured)) terminal.print(line);
    }
  },
};

const STATE_COLUMN = HEAD.indexOf('STATE');

const paintOfState = (state: string, paint: Paint): string =>
  state === 'running' ? paint.good(state) : state === 'silent' ? paint.bad(state) : paint.faint(state);
