import { badSetting, type SettingSpecs } from '@holdfast/platform/config';

const PROCESS_NODES = 1;
const VIRTUAL_HOLLOW_NODES = 3;

export const CLOCK_SETTING = {
  kind: 'enum',
  values: ['real', 'virtual'],
  help: 'virtual: time stands still until an administrator advances it; with --play, simulated pods and objects in memory',
  default: 'real',
} as const satisfies SettingSpecs[string];

export type ClockKind = (typeof CLOCK_SETTING.values)[number];

interface Given {
  readonly clock: ClockKind;
  readonly play: boolean;
  readonly memory: boolean;
  readonly nodes: number | undefined;
  readonly 'hollow-nodes': number | undefined;
  readonly store: string | undefined;
  readonly bus: string | undefined;
}

/** What depends on the clock. Refuses what cannot live on virtual time. */
export function readTimed(given: Given) {
  const { nodes, 'hollow-nodes': hollow, memory } = given;
  if (given.clock === 'real') return { nodes: nodes ?? PROCESS_NODES, hollowNodes: hollow ?? 0, memory };
  if (!given.play) throw badSetting('--clock=virtual needs --play, which advances the time', 'Add --play.');
  if (nodes !== undefined && nodes > 0) {
    throw badSetting(
      'processes live on the clock of this machine, so a cluster on virtual time has simulated pods alone',
      'Use --hollow-nodes in place of --nodes.',
    );
  }
  const outside = (['store', 'bus'] as const).find((name) => given[name] !== undefined);
  if (outside !== undefined) {
    throw badSetting(
      `the server of --${outside} lives on the clock of its machine, not on virtual time`,
      `Leave --${outside} out.`,
    );
  }
  return { nodes: 0, hollowNodes: hollow ?? VIRTUAL_HOLLOW_NODES, memory: true };
}
