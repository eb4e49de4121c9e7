import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock, Timer } from '@holdfast/platform';
import { bundledModule } from '@holdfast/platform/sources';
import { VolumeError } from '../domain/volume-files.ts';
import type { Owner } from '../domain/volume-owner.ts';
import { VOLUME_GROUP_MS, VOLUME_WORK_MS, VOLUME_WORKER_LINGER_MS, VOLUME_WORKERS_MAX } from '../limits.ts';
import { HELPER_ENVIRONMENT } from '../runtime/helpers.ts';
import { hasForeignMounts } from '../runtime/pod-directories.ts';
import type { BlockDevice } from './block-device.ts';
import type { GroupOptions } from './volume-group.ts';
import { type FoundSubPath, localVolumeWork, type SubPathRequest, type VolumeWork } from './volume-work.ts';

export interface WorkOrder {
  readonly name: keyof VolumeWork;
  readonly args: readonly unknown[];
}

export interface WorkAnswer {
  readonly result?: unknown;
  readonly failure?: { readonly isOfVolume: boolean; readonly message: string };
}

export interface VolumeWorkersDeps {
  readonly clock: Clock;
  /** False: every file system of the machine is its own, and answers. */
  readonly mayHang?: () => boolean;
  readonly workersMax?: number;
}

const PROGRAM = new URL('./volume-worker-main.ts', import.meta.url);
const SMALL = ['--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=0'] as const;

/**
 * Works in volumes by processes of their own, each with a deadline: a call into a file system whose server is silent does not return,
 * and a thread of this process could not be given up. Where all file systems are the machine's own, no process is needed.
 */
export class VolumeWorkers implements VolumeWork {
  readonly #deps: Required<VolumeWorkersDeps>;
  readonly #workers = new Set<VolumeWorker>();
  /** Places whose last worker was killed and has not ended yet. */
  readonly #stuck = new Set<string>();
  #idle: VolumeWorker | undefined;
  #linger: Timer | undefined;

  constructor(deps: VolumeWorkersDeps) {
    this.#deps = { mayHang: hasForeignMounts, workersMax: VOLUME_WORKERS_MAX, ...deps };
  }

  async useHostPath(path: string, type: string, owner?: Owner): Promise<void> {
    if (!this.#deps.mayHang()) return localVolumeWork.useHostPath(path, type, owner);
    await this.#order(path, { name: 'useHostPath', args: [path, type, owner] });
  }

  async adoptDirectory(path: string, owner: Owner): Promise<boolean> {
    if (!this.#deps.mayHang()) return localVolumeWork.adoptDirectory(path, owner);
    return (await this.#order(path, { name: 'adoptDirectory', args: [path, owner] })) === true;
  }

  async giveGroup(path: string, options: GroupOptions): Promise<void> {
    if (!this.#deps.mayHang()) return localVolumeWork.giveGroup(path, options);
    await this.#order(path, { name: 'giveGroup', args: [path, options] }, VOLUME_GROUP_MS);
  }

  async findSubPath(request: SubPathRequest): Promise<FoundSubPath> {
    if (!this.#deps.mayHang()) return localVolumeWork.findSubPath(request);
    // The answer of our own program.
    return (await this.#order(request.volume, { name: 'findSubPath', args: [request] })) as FoundSubPath;
  }

  async findDevice(path: string): Promise<BlockDevice> {
    if (!this.#deps.mayHang()) return localVolumeWork.findDevice(path);
    return (await this.#order(path, { name: 'findDevice', args: [path] })) as BlockDevice;
  }

  close(): void {
    this.#linger?.cancel();
    for (const worker of this.#workers) worker.end();
  }

  async #order(place: string, order: WorkOrder, deadlineMs = VOLUME_WORK_MS): Promise<unknown> {
    if (this.#stuck.has(place))
      throw new VolumeError(`${place}: an earlier look at the volume still waits for its server`);
    const worker = this.#take();
    const timer = this.#deps.clock.timer(deadlineMs, () => {
      this.#stuck.add(place);
      worker.onEnd(() => this.#stuck.delete(place));
      worker.end(new VolumeError(`${place}: the server of the volume did not answer within ${deadlineMs / 1000} s`));
    });
    try {
      return await worker.carryOut(order);
    } finally {
      timer.cancel();
      this.#keep(worker);
    }
  }

  #take(): VolumeWorker {
    const idle = this.#idle;
    this.#idle = undefined;
    this.#linger?.cancel();
    if (idle?.isAlive === true) return idle;
    if (this.#workers.size >= this.#deps.workersMax)
      throw new VolumeError(
        `${this.#workers.size} volumes of the node do not answer: it looks at no more, and retries`,
      );
    const made = new VolumeWorker();
    this.#workers.add(made);
    made.onEnd(() => this.#workers.delete(made));
    return made;
  }

  /** One waits for the next order: its start takes longer than the work. */
  #keep(worker: VolumeWorker): void {
    if (!worker.isAlive) return;
    if (this.#idle !== undefined) return worker.end();
    this.#idle = worker;
    this.#linger = this.#deps.clock.timer(VOLUME_WORKER_LINGER_MS, () => {
      this.#idle = undefined;
      worker.end();
    });
  }
}

class VolumeWorker {
  readonly #child: ChildProcess;
  #pending: PromiseWithResolvers<unknown> | undefined;
  isAlive = true;

  constructor() {
    this.#child = fork(fileURLToPath(bundledModule(PROGRAM) ?? PROGRAM), {
      execArgv: [...SMALL],
      env: { ...HELPER_ENVIRONMENT },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.on('message', (answer: WorkAnswer) => this.#receive(answer));
    this.#child.on('error', (error) => this.end(error));
    this.onEnd(() => this.end(new Error('the process that works in volumes has ended')));
  }

  onEnd(act: () => void): void {
    this.#child.once('close', act);
  }

  carryOut(order: WorkOrder): Promise<unknown> {
    this.#pending = Promise.withResolvers<unknown>();
    // A failure to send is followed by the end.
    this.#child.send(order, () => undefined);
    return this.#pending.promise;
  }

  /** A process that waits for a server may end late, or never. */
  end(why = new Error('the kubelet stops')): void {
    this.isAlive = false;
    this.#child.kill('SIGKILL');
    this.#child.unref();
    if (this.#child.connected) this.#child.disconnect();
    this.#pending?.reject(why);
    this.#pending = undefined;
  }

  #receive({ failure, result }: WorkAnswer): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (failure === undefined) pending?.resolve(result);
    else pending?.reject(failure.isOfVolume ? new VolumeError(failure.message) : new Error(failure.message));
  }
}
