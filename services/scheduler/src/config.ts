import { COMPONENT_SETTINGS } from '@holdfast/client/component-config';
import type { SettingSpecs, Settings } from '@holdfast/platform/config';

export const SCHEDULER_SETTINGS = {
  ...COMPONENT_SETTINGS,
  'scheduler-name': {
    kind: 'string',
    help: 'pods with this schedulerName are scheduled',
    default: 'default-scheduler',
  },
  'leader-elect': { kind: 'boolean', help: 'let only one of several schedulers work at a time' },
} as const satisfies SettingSpecs;

export type SchedulerSettings = Settings<typeof SCHEDULER_SETTINGS>;
