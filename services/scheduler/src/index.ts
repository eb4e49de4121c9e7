export { createStatusAccess } from './adapters/status-access.ts';
export { createStatusServer } from './adapters/status-server.ts';
export { createScheduler, type Scheduler, type SchedulerCounters } from './app.ts';
export { SCHEDULER_SETTINGS, type SchedulerSettings } from './config.ts';
export type { SchedulerConfiguration } from './configuration/configuration.ts';
export { readConfigurationFile } from './configuration/read-file.ts';
export type { SchedulerDeps } from './scheduler-deps.ts';
