import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import type { Command } from '../command.ts';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { completedCommands } from '../completion/model.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  json: { kind: 'boolean', help: 'Print one JSON document a command, with its flags, instead of a script' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const SHELLS = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
]);

const ABOUT = `Prints the completions of a shell, for a program \`holdfast\` in the PATH:

  source <(holdfast completion bash)      in ~/.bashrc
  source <(holdfast completion zsh)       in ~/.zshrc, after compinit
  holdfast completion fish | source       in ~/.config/fish/config.fish`;

export const COMPLETION: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    const names = [...SHELLS.keys()].join(', ');
    if (settings.help) {
      terminal.print(`holdfast completion bash | zsh | fish\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return;
    }
    if (settings.json) {
      for (const each of await completedCommands()) terminal.print(JSON.stringify(each));
      return;
    }
    const script = SHELLS.get(words[0] ?? '');
    if (script === undefined || words.length > 1) throw misuse('one shell has to be named', `Use one of ${names}.`);
    terminal.print(script(await completedCommands()).trimEnd());
  },
};
