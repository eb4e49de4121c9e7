import { startCluster } from '../index.ts';
import { createTestenv, type Testenv, type TestenvOptions } from './server.ts';

export type { Testenv } from './server.ts';

/** The control endpoint of `holdfast testenv`. */
export const openTestenv = (options: Omit<TestenvOptions, 'startCluster'>): Testenv =>
  createTestenv({ ...options, startCluster });
