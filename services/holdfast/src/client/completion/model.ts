import type { SettingSpec, SettingSpecs } from '@holdfast/platform/config';
import { START_SETTINGS } from '../../config.ts';
import { COMMANDS } from '../registry.ts';

/** What follows a flag: nothing, a file, the name of a cluster, or one of these words. */
export type FlagValue = 'nothing' | 'file' | 'cluster' | readonly string[];

export interface CompletedFlag {
  readonly name: string;
  readonly short: string | undefined;
  readonly help: string;
  readonly value: FlagValue;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** What may follow it; none means files. */
  readonly words: readonly string[];
  readonly flags: readonly CompletedFlag[];
}

/** Everything that a shell completes, from the registry of commands and their flags. */
export async function completedCommands(): Promise<readonly CompletedCommand[]> {
  const start = {
    name: 'start',
    summary: 'Run a whole cluster in this process until Ctrl-C',
    words: [],
    flags: flagsOf(START_SETTINGS),
  };
  const others = Object.entries(COMMANDS).map(async ([name, { summary, words = [], load }]) => ({
    name,
    summary,
    words,
    flags: flagsOf((await load()).settings),
  }));
  return [start, ...(await Promise.all(others))];
}

const flagsOf = (settings: SettingSpecs): readonly CompletedFlag[] =>
  Object.entries(settings).map(([name, spec]) => ({
    name,
    short: spec.short,
    help: spec.help,
    value: valueOf(name, spec),
  }));

function valueOf(name: string, spec: SettingSpec): FlagValue {
  if (spec.kind === 'boolean') return 'nothing';
  if (spec.kind === 'enum') return spec.values;
  if (spec.kind === 'list' && spec.values !== undefined) return spec.values;
  return name === 'name' ? 'cluster' : 'file';
}

/** The clusters of this user, in any of the three shells. */
export const CLUSTERS_COMMAND = 'ls "$(printenv XDG_STATE_HOME || echo "$HOME/.local/state")/holdfast" 2>/dev/null';

/** Words of a shell, in single quotes. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
