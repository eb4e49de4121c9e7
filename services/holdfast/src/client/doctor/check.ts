import type { Terminal } from '../command.ts';
import type { Judgement } from './finding.ts';

/** The cluster that is to be started, or that runs. */
export interface Subject {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  readonly kubeconfig: string;
  /** It is that of the data directory; otherwise its cluster may run anywhere. */
  readonly isOwnKubeconfig: boolean;
  readonly terminal: Terminal;
}

/** One check: it reads facts of the machine, and a pure function judges them. */
export interface Check {
  readonly name: string;
  look(subject: Subject): Promise<Judgement>;
}
