import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { runSimulator } from '../checkout.ts';
import type { Command } from '../command.ts';
import { misuse } from '../misuse.ts';

const SETTINGS = {
  html: { kind: 'string', help: 'Writes a timeline of the scenario to this file' },
  minutes: { kind: 'integer', help: 'Without a scenario: plays fresh seeds for so long', min: 1, max: 100_000 },
  from: { kind: 'integer', help: 'The first seed; default: of the time', min: 1, max: 2 ** 32 - 1 },
  profile: { kind: 'enum', values: ['short', 'standard', 'long'], help: 'Size of the worlds', default: 'standard' },
  json: { kind: 'boolean', help: 'Print one JSON document a line; what people read goes to standard error' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Plays a scenario file on a whole cluster in virtual time: faults and actions of users (docs/scenarios.md). With --minutes it\n' +
  'hunts: fresh seeds, and each that breaks a rule is made small and kept as such a file, in hunt-found. Exit code 1: a rule is\n' +
  'broken.';

export const SIM: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast sim FILE | --minutes N\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return 0;
    }
    const args = [...scriptArguments(words, settings), ...(settings.json ? ['--json'] : [])];
    return runSimulator(args, terminal);
  },
};

interface Wish {
  readonly html: string | undefined;
  readonly minutes: number | undefined;
  readonly from: number | undefined;
  readonly profile: string;
}

/** The arguments of `npm run hunt`. */
export function scriptArguments(words: readonly string[], { html, minutes, from, profile }: Wish): readonly string[] {
  const [file, ...more] = words;
  if (more.length > 0) throw misuse('sim plays one scenario file at a time', 'Name one: `sim FILE`.');
  if (file === undefined && minutes === undefined)
    throw misuse('no scenario file is named', 'Name one, as in `sim scenario.yaml`, or hunt with `sim --minutes 10`.');
  if (file !== undefined && (minutes !== undefined || from !== undefined))
    throw misuse('a scenario has a seed of its own', 'Leave --minutes and --from out, or the file.');
  if (file !== undefined) return ['--scenario', file, ...(html === undefined ? [] : ['--html', html])];
  if (html !== undefined) throw misuse('only a scenario has a timeline', 'Name its file, or leave --html out.');
  return ['--minutes', `${minutes}`, '--profile', profile, ...(from === undefined ? [] : ['--from', `${from}`])];
}
