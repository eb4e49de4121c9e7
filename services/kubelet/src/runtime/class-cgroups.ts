import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Control groups of a node, one for each class of pods that a deadline may end. Shared by the kubelet and the watchdog. Only the second
 * version of control groups can kill what is frozen; where both versions are mounted, containers are in both.
 */
export const COVERED_CLASSES = ['exclusive', 'other'] as const;

export type CoveredClass = (typeof COVERED_CLASSES)[number];

export class ClassCgroups {
  readonly #mounts: string;
  readonly #root: string;
  readonly #node: string;

  /** `node` names the state directory of the node. `mounts`: where control groups are mounted. */
  constructor(node: string, mounts = CGROUP_MOUNTS) {
    this.#mounts = mounts;
    this.#root = unifiedRoot(mounts);
    this.#node = `holdfast-${node}`;
  }

  /** Creates the groups. Returns false where the kernel cannot end a group, or this user cannot create one. */
  prepare(): boolean {
    try {
      for (const each of COVERED_CLASSES) mkdirSync(this.#directory(each), { recursive: true });
      if (COVERED_CLASSES.every((each) => existsSync(join(this.#directory(each), KILL)))) return true;
    } catch {
      // What was made is of no use.
    }
    this.remove();
    return false;
  }

  /** The path that a runtime is given as the parent of a pod's groups. */
  parent(fencing: CoveredClass): string {
    return `/${this.#node}/${fencing}`;
  }

  holds(fencing: CoveredClass, containerId: string): boolean {
    return namesIn(this.#directory(fencing)).some((name) => name.includes(containerId));
  }

  /** Kills every process of the class. A process that is moved into the group from now on is frozen before it runs. */
  end(fencing: CoveredClass): void {
    if (!existsSync(this.#directory(fencing))) return;
    this.#write(fencing, FREEZE, '1');
    this.#write(fencing, KILL, '1');
  }

  thaw(fencing: CoveredClass): void {
    this.#write(fencing, FREEZE, '0');
  }

  isFrozen(fencing: CoveredClass): boolean {
    return readText(join(this.#directory(fencing), FREEZE)).trim() === '1';
  }

  isPopulated(fencing: CoveredClass): boolean {
    return /^populated 1$/m.test(readText(join(this.#directory(fencing), 'cgroup.events')));
  }

  /** Removes empty groups. A runtime creates the parents in every hierarchy and leaves them there. */
  remove(classes: readonly CoveredClass[] = COVERED_CLASSES): void {
    for (const hierarchy of [this.#mounts, ...namesIn(this.#mounts).map((name) => join(this.#mounts, name))]) {
      for (const each of classes) removeEmpty(join(hierarchy, this.#node, each));
      removeEmpty(join(hierarchy, this.#node));
    }
  }

  #directory(fencing: CoveredClass): string {
    return join(this.#root, this.#node, fencing);
  }

  #write(fencing: CoveredClass, file: string, text: string): void {
    writeFileSync(join(this.#directory(fencing), file), text, { flag: 'r+' });
  }
}

const CGROUP_MOUNTS = '/sys/fs/cgroup';
const FREEZE = 'cgroup.freeze';
const KILL = 'cgroup.kill';

/** Beside the first version, the second is mounted one level below. */
function unifiedRoot(mounts: string): string {
  const below = join(mounts, 'unified');
  return existsSync(join(below, 'cgroup.controllers')) ? below : mounts;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // It does not exist, or it still has processes.
  }
}
