import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { runInCheckout } from '../checkout.ts';
import type { Command } from '../command.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  all: { kind: 'boolean', help: 'Plays all of test/chaos/scenarios' },
  random: { kind: 'integer', help: 'Plays so many schedules that are drawn from the seed', min: 1, max: 1_000 },
  seed: { kind: 'integer', help: 'The seed of --random', min: 1, max: 2 ** 32 - 1 },
  html: { kind: 'string', help: 'Writes a report of each run to this folder' },
  json: { kind: 'boolean', help: 'Print one JSON document a line; what people read goes to standard error' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Plays scenario files on the containers of the compose form: cut wires, killed processes, full disks (docs/scenarios.md).\n' +
  'Heartbeats of the pods say whether two of one identity ever ran at once. Exit code 1: something is broken. Needs a checkout\n' +
  'of Holdfast and a container engine.';

export const CHAOS: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast chaos FILE... | --all | --random N\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return 0;
    }
    const args = [...scriptArguments(words, settings), ...(settings.json ? ['--json'] : [])];
    return runInCheckout({ command: 'chaos', script: 'chaos', args }, terminal);
  },
};

interface Wish {
  readonly all: boolean;
  readonly random: number | undefined;
  readonly seed: number | undefined;
  readonly html: string | undefined;
}

/** The arguments of `npm run chaos`. */
export function scriptArguments(words: readonly string[], { all, random, seed, html }: Wish): readonly string[] {
  const ways = [words.length > 0, all, random !== undefined].filter(Boolean);
  if (ways.length !== 1)
    throw misuse('chaos plays either files, or --all, or --random N', 'Give one of them, as in `chaos --all`.');
  if (seed !== undefined && random === undefined)
    throw misuse('--seed belongs to --random', 'Add --random N, or leave it out.');
  return [
    ...words,
    ...(all ? ['--all'] : []),
    ...(random === undefined ? [] : ['--random', `${random}`]),
    ...(seed === undefined ? [] : ['--seed', `${seed}`]),
    ...(html === undefined ? [] : ['--html', html]),
  ];
}
