import type { Clock } from '@holdfast/platform';
import { type ContainerStatus, RuntimeError, type SandboxStatus } from '../port.ts';
import { type LiveContainer, liveContainer } from './live-container.ts';
import { RecordKeeper } from './record-keeper.ts';
import type { ContainerRecord, SandboxRecord, StateFiles } from './records.ts';

export interface SupervisedStateDeps {
  readonly clock: Clock;
  readonly files: StateFiles;
  /** Called after every change. */
  readonly onChange: (podUid: string) => void;
}

/** The state of a supervisor, in memory and, through its records, on disk. */
export class SupervisedState {
  readonly #deps: SupervisedStateDeps;
  readonly #sandboxes = new Map<string, SandboxRecord>();
  readonly #containers = new Map<string, LiveContainer>();
  readonly #records: RecordKeeper;
  #sequence = 0;

  constructor(deps: SupervisedStateDeps) {
    this.#deps = deps;
    this.#records = new RecordKeeper(deps.clock);
  }

  /** Loads the records of an earlier supervisor. */
  load(): void {
    const { sandboxes, containers } = this.#deps.files.load();
    for (const record of sandboxes) this.#sandboxes.set(record.id, record);
    for (const record of containers) {
      this.#containers.set(record.id, liveContainer(record));
      this.#sequence = Math.max(this.#sequence, record.sequence);
    }
  }

  isEmpty(): boolean {
    return this.#sandboxes.size === 0;
  }

  nextSequence(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  sandbox(id: string): SandboxRecord | undefined {
    return this.#sandboxes.get(id);
  }

  sandboxes(): readonly SandboxRecord[] {
    return [...this.#sandboxes.values()];
  }

  container(id: string): LiveContainer | undefined {
    return this.#containers.get(id);
  }

  containers(): Iterable<LiveContainer> {
    return this.#containers.values();
  }

  containersOf(sandboxId: string): LiveContainer[] {
    return [...this.#containers.values()].filter((container) => container.record.sandbox === sandboxId);
  }

  require(id: string): LiveContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new RuntimeError('NotFound', `container ${id} does not exist`);
    return container;
  }

  /** Nothing starts without a record. */
  beginSandbox(record: SandboxRecord): void {
    this.#records.begin(() => this.#deps.files.saveSandbox(record));
    this.#sandboxes.set(record.id, record);
    this.#deps.onChange(record.config.podUid);
  }

  saveSandbox(record: SandboxRecord): void {
    this.#sandboxes.set(record.id, record);
    this.#records.keep(record.id, () => this.#deps.files.saveSandbox(record));
    this.#deps.onChange(record.config.podUid);
  }

  /** Includes all of its containers. */
  removeSandbox(record: SandboxRecord): void {
    const { podUid } = record.config;
    const isLast = !this.sandboxes().some((other) => other !== record && other.config.podUid === podUid);
    this.#deps.files.removeSandbox(record, isLast);
    this.#records.forget(record.id);
    for (const { record: container } of this.containersOf(record.id)) {
      this.#records.forget(container.id);
      this.#containers.delete(container.id);
    }
    this.#sandboxes.delete(record.id);
    this.#deps.onChange(podUid);
  }

  beginContainer(record: ContainerRecord): void {
    this.#records.begin(() => this.#deps.files.saveContainer(record));
    this.#containers.set(record.id, liveContainer(record));
    this.#changed(record.sandbox);
  }

  update(container: LiveContainer, change: Partial<ContainerRecord>): void {
    const record = { ...container.record, ...change };
    container.record = record;
    // Removed while it ended: writing would bring the record back.
    if (!this.#containers.has(record.id)) return;
    this.#records.keep(record.id, () => this.#deps.files.saveContainer(record));
    this.#changed(record.sandbox);
  }

  removeContainer(record: ContainerRecord): void {
    this.#containers.delete(record.id);
    this.#records.forget(record.id);
    this.#deps.files.removeContainer(record);
    this.#changed(record.sandbox);
  }

  list(podUid?: string): readonly SandboxStatus[] {
    return this.sandboxes()
      .filter((record) => podUid === undefined || record.config.podUid === podUid)
      .map((record) => ({
        ...record,
        volumesPath: this.#deps.files.volumesPath(record.config.podUid),
        containers: this.containersOf(record.id).map((container) => this.#status(container.record)),
      }));
  }

  runningRecords(): ContainerRecord[] {
    return [...this.#containers.values()].map(({ record }) => record).filter(({ state }) => state === 'running');
  }

  runningLogs(): string[] {
    return this.runningRecords().map((record) => this.#deps.files.logPath(record));
  }

  #changed(sandboxId: string): void {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox !== undefined) this.#deps.onChange(sandbox.config.podUid);
  }

  #status(record: ContainerRecord): ContainerStatus {
    const { name, image, restartCount, user } = record.config;
    return {
      id: record.id,
      config: { name, image, restartCount, ...(user === undefined ? {} : { user }) },
      state: record.state,
      createdAt: record.createdAt,
      ...(record.startedAt === undefined ? {} : { startedAt: record.startedAt }),
      ...record.exit,
      logPath: this.#deps.files.logPath(record),
    };
  }
}
