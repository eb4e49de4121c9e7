import type { SettingSpecs, Settings } from '@holdfast/platform/config';

const RETENTION_MAX = '720h';
const LIMIT_MB_MAX = 65_536;
const MEGABYTE = 1024 * 1024;

/** The defaults differ: a cluster of one process keeps a history, servers beside each other do when they are told to. */
export const historySettings = <R extends string>(retention: R) =>
  ({
    'history-retention': {
      kind: 'duration',
      help: 'How long every revision is kept with who wrote it, for `holdfast history` and the console; 0s = not at all',
      default: retention,
      max: RETENTION_MAX,
    },
    'history-limit-mb': {
      kind: 'integer',
      help: 'Megabytes of that history, compressed; the oldest goes first',
      default: 64,
      min: 1,
      max: LIMIT_MB_MAX,
    },
  }) as const satisfies SettingSpecs;

export interface HistoryConfig {
  readonly retentionMs: number;
  readonly limitBytes: number;
}

/** `undefined`: no history is kept. */
export function readHistoryConfig(settings: Settings<ReturnType<typeof historySettings>>): HistoryConfig | undefined {
  const retentionMs = settings['history-retention'];
  return retentionMs === 0 ? undefined : { retentionMs, limitBytes: settings['history-limit-mb'] * MEGABYTE };
}
