import type { Check } from './check.ts';
import { API } from './checks/api.ts';
import { CERTIFICATES } from './checks/certificates.ts';
import { CLOCK } from './checks/clock.ts';
import { CONTROL_GROUPS } from './checks/control-groups.ts';
import { DISK } from './checks/disk.ts';
import { KERNEL } from './checks/kernel.ts';
import { DATA_DIRECTORY } from './checks/lock.ts';
import { PORT } from './checks/port.ts';
import { RUNTIMES } from './checks/runtimes.ts';
import { SYNC } from './checks/sync.ts';

export const CHECKS: readonly Check[] = [
  DATA_DIRECTORY,
  PORT,
  DISK,
  SYNC,
  CERTIFICATES,
  CLOCK,
  RUNTIMES,
  KERNEL,
  CONTROL_GROUPS,
  API,
];
