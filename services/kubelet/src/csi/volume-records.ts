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
import { csiVolumesOf } from '../runtime/pod-directories.ts';

/** A volume that a driver may have published for a pod. Written before the driver is asked, removed after its end. */
export interface VolumeRecord {
  readonly podUid: string;
  /** The PersistentVolume, or the name of an inline volume of the pod. */
  readonly name: string;
  readonly driver: string;
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly targetPath: string;
}

const FILE = 'vol_data.json';
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
    return join(this.#folder(podUid, name), 'mount');
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
    rmSync(join(folder, FILE), { force: true });
    rmSync(`${join(folder, FILE)}.new`, { force: true });
    rmdirSync(folder);
    const above = dirname(folder);
    if (existing(above).length === 0) rmdirSync(above);
  }

  ofPod(podUid: string): readonly VolumeRecord[] {
    const folder = csiVolumesOf(join(this.#pods, podUid, 'volumes'));
    return existing(folder).flatMap((name) => read(join(folder, name, FILE)));
  }

  pods(): readonly string[] {
    return existing(this.#pods).filter((podUid) => existsSync(csiVolumesOf(join(this.#pods, podUid, 'volumes'))));
  }

  all(): readonly VolumeRecord[] {
    return this.pods().flatMap((podUid) => this.ofPod(podUid));
  }

  #folder(podUid: string, name: string): string {
    return join(csiVolumesOf(join(this.#pods, podUid, 'volumes')), name);
  }
}

/** A record that cannot be read was cut off before the driver was asked. */
function read(path: string): readonly VolumeRecord[] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8')) as VolumeRecord];
  } catch {
    return [];
  }
}

const existing = (directory: string): readonly string[] => (existsSync(directory) ? readdirSync(directory) : []);

/** A driver removes what it made there; some leave the empty directory. */
function removeTarget(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) rmdirSync(path);
  else rmSync(path);
}
