import { VERSION as SERVED } from '@holdfast/apiserver/version';
import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import type { Command } from '../command.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  json: { kind: 'boolean', help: 'Print a JSON document with "version", "kubernetes" and "node"' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT = 'Prints the version of this program, of the Kubernetes API that it serves, and of Node.';

export const VERSION: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast version\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return;
    }
    if (words[0] !== undefined) throw misuse(`version does not know "${words[0]}"`, 'Use `version`.');
    const [kubernetes = '', version = ''] = SERVED.gitVersion.split('+holdfast.');
    const { node } = process.versions;
    const text = `holdfast ${version}, Kubernetes ${kubernetes}, Node ${node}`;
    terminal.print(settings.json ? JSON.stringify({ version, kubernetes, node }) : text);
  },
};
