import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { csiVolumesOf, mountsAt } from '../runtime/pod-directories.ts';

/** A volume that a driver may have published for a pod. Written before the driver is asked, removed after its end. */
export interface VolumeRecord {
  readonly podUid: string;
  /** The PersistentVolume, or the name of an inline volume of the pod. */
  readonly name: string;
  readonly driver: string;
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly targetPath: string;
  readonly isExclusive?: boolean;
  readonly podVolume?: string | undefined;
  readonly claim?: string | undefined;
}

const FILE = 'vol_data.json';
const TARGET = 'mount';
const PRIVATE = { recursive: true, mode: 0o750 } as const;

/** The state of CSI volumes on the disk of the node: it outlives the kubelet. Its paths are those of Kubernetes' kubelet. */
export class VolumeRecords {
  readonly #pods: string;

  /** `root`: the state directory of the node. */
  constructor(root: string) {
    this.#pods = join(root, 'pods');
  }

  /** Where a driver puts the volume for the pod. */
  targetPath(podUid: string, name: string): string {
    return join(this.#folder(podUid, name), TARGET);
  }

  save(record: VolumeRecord): void {
    const folder = this.#folder(record.podUid, record.name);
    mkdirSync(folder, PRIVATE);
    const path = join(folder, FILE);
    writeFileSync(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  /** Fails while something is in the target: the data of a volume are never removed here. */
  remove({ podUid, name, targetPath }: VolumeRecord): void {
    const folder = this.#folder(podUid, name);
    removeTarget(targetPath);
    removeFolder(folder);
    const above = dirname(folder);
    if (existing(above).length === 0) rmdirSync(above);
  }

  /** True while the pod has directories of volumes, also without a record. */
  has(podUid: string): boolean {
    return existsSync(this.#volumes(podUid));
  }

  /** Removes directories without a record: a kubelet ended while it wrote or removed one. Fails while something is in a target. */
  removeUnused(podUid: string): void {
    const above = this.#volumes(podUid);
    for (const name of existing(above)) {
      const folder = join(above, name);
      if (read(join(folder, FILE)).length > 0) continue;
      removeTarget(join(folder, TARGET));
      removeFolder(folder);
    }
    if (existsSync(above) && existing(above).length === 0) rmdirSync(above);
  }

  ofPod(podUid: string): readonly VolumeRecord[] {
    const folder = this.#volumes(podUid);
    return existing(folder).flatMap((name) => read(join(folder, name, FILE)));
  }

  pods(): readonly string[] {
    return existing(this.#pods).filter((podUid) => this.has(podUid));
  }

  all(): readonly VolumeRecord[] {
    return this.pods().flatMap((podUid) => this.ofPod(podUid));
  }

  #folder(podUid: string, name: string): string {
    return join(this.#volumes(podUid), name);
  }

  #volumes(podUid: string): string {
    return csiVolumesOf(join(this.#pods, podUid, 'volumes'));
  }
}

/**
 * A record that is no JSON was cut off by a loss of power, which ended the mounts. Throws when a record is there and cannot
 * be read: what the driver has published is not known then.
 */
function read(path: string): readonly VolumeRecord[] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8');
  try {
    return [JSON.parse(text) as VolumeRecord];
  } catch {
    return [];
  }
}

const existing = (directory: string): readonly string[] => (existsSync(directory) ? readdirSync(directory) : []);

function removeFolder(folder: string): void {
  rmSync(join(folder, FILE), { force: true });
  rmSync(`${join(folder, FILE)}.new`, { force: true });
  rmdirSync(folder);
}

/** A driver removes what it made there; some leave the empty directory. */
function removeTarget(path: string): void {
  // A look at a file system whose server is silent does not return.
  if (mountsAt(path).length > 0) throw new Error(`${path} is still mounted`);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) rmdirSync(path);
  else rmSync(path);
}
