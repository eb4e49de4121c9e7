import type { Clock } from '@holdfast/platform';
import { type ExecResult, type ExecStreamRequest, RuntimeError } from '../port.ts';
import { type BesideRequest, execIn } from './exec.ts';
import { type OpenExec, openExec } from './exec-streams.ts';
import type { RunningContainer } from './live-container.ts';
import type { ContainerRecord, StateFiles } from './records.ts';
import type { SupervisedState } from './supervised-state.ts';
import { childrenOf } from './terminal.ts';

/** Commands beside the processes of a container, and the way to what those read and write. */
export class ContainerCommands {
  readonly #clock: Clock;
  readonly #files: StateFiles;
  readonly #state: SupervisedState;

  constructor({ clock, files }: { readonly clock: Clock; readonly files: StateFiles }, state: SupervisedState) {
    this.#clock = clock;
    this.#files = files;
    this.#state = state;
  }

  exec(id: string, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    return execIn(this.#clock, { ...this.#beside(id, command), timeoutMs });
  }

  openExec(id: string, { command, ...options }: ExecStreamRequest): OpenExec {
    return openExec(this.#clock, this.#beside(id, command), options);
  }

  #beside(id: string, command: readonly string[]): BesideRequest {
    const { record, ending } = this.#state.require(id);
    const sandbox = this.#state.sandbox(record.sandbox);
    // A process that starts during the kill might be missed.
    if (record.state !== 'running' || ending || sandbox === undefined)
      throw new RuntimeError('IllegalState', `container ${record.config.name} does not run`);
    return {
      containerId: id,
      config: { ...record.config, command, args: [] },
      sandbox: sandbox.config,
      network: sandbox.network,
      workPath: this.#files.workPath(record),
      leader: innerLeader(record),
    };
  }

  /** Returns the container to attach to. */
  running(id: string): RunningContainer {
    const { record, stdin } = this.#state.require(id);
    if (record.state !== 'running')
      throw new RuntimeError('IllegalState', `container ${record.config.name} does not run`);
    return {
      config: record.config,
      pid: record.process?.pid ?? 0,
      logPath: this.#files.logPath(record),
      stdin,
      isOver: () => this.#state.container(id)?.record.state !== 'running',
    };
  }
}

/** The process whose namespaces are the container's: with a terminal, the one that runs on it. */
function innerLeader({ config, process: leader }: ContainerRecord): number {
  const pid = leader?.pid ?? 0;
  return config.tty === true ? (childrenOf(pid)[0] ?? pid) : pid;
}
