import type { Program } from '../setup/packages.ts';

/** One layer of tests, which runs alone with `npm test -- <name>`. */
export interface Suite {
  readonly name: string;
  readonly files: readonly string[];
  readonly programs?: readonly Program[];
  /** Starts servers from this checkout again and again. */
  readonly startsServers?: boolean;
  /** Needs a Docker Engine with the compose plugin. */
  readonly docker?: boolean;
  /** Starts container runtimes of its own. */
  readonly containerd?: boolean;
  /** Test files that run at the same time; servers of one test must not starve those of another. */
  readonly concurrency: number;
  /** Files that look at the whole machine. They run after the others, one at a time. */
  readonly alone?: readonly string[];
  readonly timeoutSecondsPerTest: number;
  /**
   * Starts beside this suite and runs at the lowest priority, also beside those that follow. For suites that no clock of the
   * machine can fail, beside suites that wait much of their time.
   */
  readonly inIdleTimeOf?: string;
  /** What runs in idle time stands still: both cores are busy, and it would cost more than it gains. */
  readonly hasNoIdleTime?: boolean;
  /** The processes of this suite share compiled modules. Suites that measure memory do not. */
  readonly sharesCompiledModules?: boolean;
  /** Files of one room run in one process, which loads their modules once. */
  readonly sharesProcesses?: boolean;
}

/** In the order of execution: fast failures come first. */
export const SUITES: readonly Suite[] = [
  { name: 'checks', files: ['tools/**/*.test.ts'], concurrency: 2, timeoutSecondsPerTest: 300 },
  {
    name: 'unit',
    files: ['libs/*/src/**/*.test.ts', 'services/*/src/**/*.test.ts'],
    concurrency: 2,
    timeoutSecondsPerTest: 120,
    sharesCompiledModules: true,
    sharesProcesses: true,
  },
  {
    name: 'sim',
    files: ['test/scenario/**/*.test.ts', 'test/sim/**/*.test.ts'],
    concurrency: 2,
    timeoutSecondsPerTest: 300,
    inIdleTimeOf: 'integration',
    sharesCompiledModules: true,
  },
  {
    name: 'integration',
    files: ['test/integration/**/*.test.ts'],
    programs: ['redis-server', 'nats-server', 'nats-server-next', 'kubectl', 'fish', 'zsh'],
    containerd: true,
    startsServers: true,
    concurrency: 3,
    alone: [
      'test/integration/abuse-slow-clients.test.ts',
      'test/integration/node-port.test.ts',
      'test/integration/pod-network.test.ts',
      'test/integration/self-fencing.test.ts',
    ],
    timeoutSecondsPerTest: 300,
    sharesCompiledModules: true,
  },
  {
    name: 'abuse',
    files: ['test/abuse/**/*.test.ts'],
    startsServers: true,
    concurrency: 1,
    timeoutSecondsPerTest: 300,
  },
  {
    name: 'e2e',
    files: ['test/e2e/**/*.test.ts'],
    programs: ['kubectl', 'chromium'],
    startsServers: true,
    concurrency: 2,
    alone: ['test/e2e/kubectl-pod-network.test.ts'],
    timeoutSecondsPerTest: 300,
    hasNoIdleTime: true,
    sharesCompiledModules: true,
  },
  {
    name: 'chaos',
    files: ['test/chaos/**/*.test.ts'],
    programs: ['kubectl', 'nats-server-next'],
    docker: true,
    startsServers: true,
    concurrency: 1,
    timeoutSecondsPerTest: 900,
  },
];
