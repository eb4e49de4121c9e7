import type { Clock } from '@holdfast/platform';
import { type ClassCgroups, COVERED_CLASSES, type CoveredClass } from '../class-cgroups.ts';
import type { FencingClass } from '../fencing-deadline.ts';
import { type ContainerRuntime, RuntimeError, type SandboxConfig, type SandboxStatus } from '../port.ts';
import type { ContainerGuard } from './container-guard.ts';
import { PLACE_LOOKS, PLACE_POLL_MS } from './limits.ts';
import type { StartRecords } from './start-records.ts';

export interface GuardedRuntimeDeps {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly groups: ClassCgroups;
  readonly records: StartRecords;
  /** Resolves with the reason why the runtime places no containers in given groups; undefined: it does. */
  readonly refusal: () => Promise<string | undefined>;
}

interface KnownPod {
  readonly podUid: string;
  readonly fencing: FencingClass | undefined;
}

interface KnownContainer extends KnownPod {
  readonly sandboxId: string;
}

/** Places the pods of a runtime in control groups of their class, and keeps account of starts, for the guard. */
export class GuardedContainers {
  readonly #deps: GuardedRuntimeDeps;
  readonly #sandboxes = new Map<string, KnownPod>();
  readonly #containers = new Map<string, KnownContainer>();
  /** Containers that are being removed because the outcome of their start is not known. */
  readonly #excluding = new Set<string>();
  #refusal: Promise<string | undefined> | undefined;
  /** Sandboxes of a kubelet that used no groups have ended. */
  #arePlaced = false;
  /** A container that the runtime put elsewhere. */
  #misplaced: string | undefined;
  /** Containers that run elsewhere while a deadline is in force, and have to be ended. */
  readonly #outside = new Set<string>();
  readonly #ending = new Set<string>();

  constructor(deps: GuardedRuntimeDeps) {
    this.#deps = deps;
  }

  /** Rejects with the reason when the groups do not hold every covered container. */
  async placed(guard: Pick<ContainerGuard, 'deadline'>): Promise<void> {
    const refusal = await this.#placementRefusal();
    if (refusal !== undefined) throw new RuntimeError('Unsupported', refusal);
    try {
      await this.#refuseMisplaced();
    } finally {
      if (guard.deadline() !== undefined) for (const id of this.#outside) void this.#endAgain(id);
    }
  }

  /** At every renewal until it has ended. Nobody waits for it: the renewal would. */
  async #endAgain(id: string): Promise<void> {
    if (this.#ending.has(id)) return;
    this.#ending.add(id);
    try {
      await this.#end(id);
    } catch {
      // The runtime does not answer: the next renewal tries it again.
    } finally {
      this.#ending.delete(id);
    }
  }

  async #end(id: string): Promise<void> {
    await this.#deps.runtime.stopContainer(id, 0);
    this.#outside.delete(id);
  }

  async #refuseMisplaced(): Promise<void> {
    if (this.#misplaced !== undefined) throw runsOutside(this.#misplaced);
    if (this.#arePlaced) return;
    const sandboxes = await this.#list();
    const outside = sandboxes.find((each) => isAlive(each) && !this.#isPlaced(each.config));
    if (outside !== undefined)
      throw new RuntimeError(
        'Unsupported',
        `pod ${outside.config.podNamespace}/${outside.config.podName} was started without a control group of its class: delete it`,
      );
    await this.#refuseStrays(sandboxes);
    this.#arePlaced = true;
  }

  /** An earlier kubelet may have started a container, and nothing but its group says where it is. */
  async #refuseStrays(sandboxes: readonly SandboxStatus[]): Promise<void> {
    for (const { config, containers } of sandboxes) {
      const fencing = coveredClass(config.fencing);
      if (fencing === undefined) continue;
      for (const { id, state } of containers) {
        if (state !== 'running' || !(await this.#isMisplaced(id, fencing, config.podUid))) continue;
        this.#outside.add(id);
        throw runsOutside(id);
      }
    }
  }

  /** A start has an outcome when its container runs, has ended, or is gone. */
  async unsettledStarts(): Promise<readonly string[]> {
    const { records } = this.#deps;
    // Before the list: it does not have the containers that are created meanwhile.
    const sent = records.ids;
    if (sent.length === 0) return [];
    const created = new Set(
      (await this.#list()).flatMap(({ containers }) =>
        containers.filter(({ state }) => state === 'created').map(({ id }) => id),
      ),
    );
    for (const id of sent) if (!created.has(id)) records.remove(id);
    const unsettled = sent.filter((id) => created.has(id));
    for (const id of unsettled) void this.#exclude(id);
    return unsettled;
  }

  /**
   * A runtime may leave a container as created when its start has failed. It carries out either the start or the removal.
   * Nobody waits for it: the renewal of the node's lease would.
   */
  async #exclude(id: string): Promise<void> {
    if (this.#excluding.has(id)) return;
    this.#excluding.add(id);
    try {
      await this.#deps.runtime.removeContainer(id);
      this.#deps.records.remove(id);
    } catch {
      // It is being started, or the runtime does not answer: the next look tries it again.
    } finally {
      this.#excluding.delete(id);
    }
  }

  async runSandbox(config: SandboxConfig, guard: ContainerGuard): Promise<string> {
    const fencing = coveredClass(config.fencing);
    if (fencing !== undefined) await guard.settle([fencing]);
    const isPlaced = fencing !== undefined && (await this.#placementRefusal()) === undefined;
    const placed = isPlaced ? { ...config, cgroupParent: this.#deps.groups.parent(fencing) } : config;
    const id = await this.#deps.runtime.runSandbox(placed);
    this.#sandboxes.set(id, knownOf(config));
    return id;
  }

  async startContainer(id: string, startBeforeMs: number | undefined, guard: ContainerGuard): Promise<void> {
    const { runtime, records } = this.#deps;
    const known = await this.#known(id);
    const fencing = coveredClass(known?.fencing);
    if (fencing === undefined) return runtime.startContainer(id);
    await guard.settle([fencing]);
    const wasSent = records.has(id);
    records.add(id);
    try {
      guard.check(known?.fencing, startBeforeMs);
    } catch (error) {
      if (!wasSent) records.remove(id);
      throw error;
    }
    await runtime.startContainer(id);
    records.remove(id);
    if (await this.#isMisplaced(id, fencing, known?.podUid)) await this.#endMisplaced(id, guard);
  }

  /** Nothing would end it at a deadline that is in force now. The node promises nothing from its next renewal on. */
  async #endMisplaced(id: string, guard: ContainerGuard): Promise<void> {
    this.#misplaced = id;
    if (guard.deadline() === undefined) return;
    this.#outside.add(id);
    await this.#end(id);
    throw new RuntimeError('Unsupported', `container ${id} was ended: it ran outside the control group of its class`);
  }

  note(sandboxId: string, containerId: string): void {
    const known = this.#sandboxes.get(sandboxId);
    if (known !== undefined) this.#containers.set(containerId, { ...known, sandboxId });
  }

  /** A sandbox or a container that was removed. The containers of a sandbox end with it. */
  forget(id: string): void {
    this.#sandboxes.delete(id);
    this.#outside.delete(id);
    for (const [containerId, { sandboxId }] of this.#containers) {
      if (containerId !== id && sandboxId !== id) continue;
      this.#containers.delete(containerId);
      if (this.#deps.records.has(containerId)) this.#deps.records.remove(containerId);
    }
  }

  /** The runtime may remove the group of a container that has just ended before it reports the end: it is looked at again. */
  async #isMisplaced(id: string, fencing: CoveredClass, podUid: string | undefined): Promise<boolean> {
    const { clock, groups, runtime } = this.#deps;
    if (groups.holds(fencing, id) || (await this.#placementRefusal()) !== undefined) return false;
    for (let look = 1; look <= PLACE_LOOKS; look++) {
      const sandboxes = await runtime.list(podUid === undefined ? {} : { podUid });
      const found = sandboxes.flatMap(({ containers }) => containers).find((each) => each.id === id);
      if (found?.state !== 'running' || groups.holds(fencing, id)) return false;
      await clock.sleep(PLACE_POLL_MS);
    }
    return true;
  }

  async #known(containerId: string): Promise<KnownContainer | undefined> {
    if (!this.#containers.has(containerId)) await this.#list();
    return this.#containers.get(containerId);
  }

  async #list(): Promise<readonly SandboxStatus[]> {
    const sandboxes = await this.#deps.runtime.list();
    for (const { id, config, containers } of sandboxes) {
      this.#sandboxes.set(id, knownOf(config));
      for (const container of containers) this.#containers.set(container.id, { ...knownOf(config), sandboxId: id });
    }
    return sandboxes;
  }

  #isPlaced({ fencing, cgroupParent }: SandboxStatus['config']): boolean {
    const covered = coveredClass(fencing);
    return covered === undefined || cgroupParent === this.#deps.groups.parent(covered);
  }

  /** A runtime that does not answer is asked again. */
  #placementRefusal(): Promise<string | undefined> {
    this.#refusal ??= this.#deps.refusal().catch((error: unknown) => {
      this.#refusal = undefined;
      throw error;
    });
    return this.#refusal;
  }
}

const runsOutside = (id: string): RuntimeError =>
  new RuntimeError('Unsupported', `container ${id} runs outside the control group of its class`);

/** Undefined: no deadline ends it. */
const coveredClass = (fencing: FencingClass | undefined): CoveredClass | undefined =>
  fencing === undefined ? 'exclusive' : COVERED_CLASSES.find((each) => each === fencing);

/** Containers may outlive the process that holds their sandbox. */
const isAlive = ({ state, containers }: SandboxStatus): boolean =>
  state === 'ready' || containers.some((each) => each.state === 'running');

const knownOf = ({ podUid, fencing }: SandboxStatus['config']): KnownPod => ({ podUid, fencing });
