import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  KubeObject,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
} from '@holdfast/api';

/** Volumes, claims and storage facts; reservations for pods in flight count as written. */
export interface Volumes {
  /** By `namespace/name`. */
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumesOfClass(className: string): Iterable<PersistentVolume>;
  storageClass(name: string): StorageClass | undefined;
  csiNode(nodeName: string): CSINode | undefined;
  csiDriver(name: string): CSIDriver | undefined;
  capacitiesOf(className: string): Iterable<CSIStorageCapacity>;
  /** Volumes that are attached to the node, or are being attached or detached. */
  attachmentsOn(nodeName: string): Iterable<VolumeAttachment>;
}

export class VolumeStore implements Volumes {
  readonly #claims = new AssumeCache<PersistentVolumeClaim>();
  readonly #volumes = new AssumeCache<PersistentVolume>();
  readonly #volumesByClass = new Map<string, Set<string>>();
  readonly #classes = new Map<string, StorageClass>();
  readonly #csiNodes = new Map<string, CSINode>();
  readonly #csiDrivers = new Map<string, CSIDriver>();
  readonly #capacities = new Map<string, CSIStorageCapacity>();
  /** By node, by name. */
  readonly #attachments = new Map<string, Map<string, VolumeAttachment>>();

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(key);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#volumes.get(name);
  }

  *volumesOfClass(className: string): Iterable<PersistentVolume> {
    for (const name of this.#volumesByClass.get(className) ?? []) {
      const volume = this.#volumes.get(name);
      if (volume !== undefined) yield volume;
    }
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#classes.get(name);
  }

  csiNode(nodeName: string): CSINode | undefined {
    return this.#csiNodes.get(nodeName);
  }

  csiDriver(name: string): CSIDriver | undefined {
    return this.#csiDrivers.get(name);
  }

  *capacitiesOf(className: string): Iterable<CSIStorageCapacity> {
    for (const capacity of this.#capacities.values()) if (capacity.storageClassName === className) yield capacity;
  }

  attachmentsOn(nodeName: string): Iterable<VolumeAttachment> {
    return this.#attachments.get(nodeName)?.values() ?? [];
  }

  setClaim(claim: PersistentVolumeClaim): void {
    this.#claims.set(keyOf(claim), claim);
  }

  removeClaim(claim: PersistentVolumeClaim): void {
    this.#claims.remove(keyOf(claim));
  }

  setVolume(volume: PersistentVolume): void {
    const name = keyOf(volume);
    this.#unclass(name);
    this.#volumes.set(name, volume);
    const { storageClassName = '' } = volume.spec;
    this.#volumesByClass.set(storageClassName, (this.#volumesByClass.get(storageClassName) ?? new Set()).add(name));
  }

  removeVolume(volume: PersistentVolume): void {
    const name = keyOf(volume);
    this.#unclass(name);
    this.#volumes.remove(name);
  }

  setClass(storageClass: StorageClass): void {
    this.#classes.set(keyOf(storageClass), storageClass);
  }

  removeClass(storageClass: StorageClass): void {
    this.#classes.delete(keyOf(storageClass));
  }

  setCsiNode(csiNode: CSINode): void {
    this.#csiNodes.set(keyOf(csiNode), csiNode);
  }

  removeCsiNode(csiNode: CSINode): void {
    this.#csiNodes.delete(keyOf(csiNode));
  }

  setCsiDriver(driver: CSIDriver): void {
    this.#csiDrivers.set(keyOf(driver), driver);
  }

  removeCsiDriver(driver: CSIDriver): void {
    this.#csiDrivers.delete(keyOf(driver));
  }

  setCapacity(capacity: CSIStorageCapacity): void {
    this.#capacities.set(keyOf(capacity), capacity);
  }

  removeCapacity(capacity: CSIStorageCapacity): void {
    this.#capacities.delete(keyOf(capacity));
  }

  setAttachment(attachment: VolumeAttachment): void {
    const { nodeName } = attachment.spec;
    const there = this.#attachments.get(nodeName) ?? new Map<string, VolumeAttachment>();
    this.#attachments.set(nodeName, there);
    there.set(keyOf(attachment), attachment);
  }

  removeAttachment(attachment: VolumeAttachment): void {
    const { nodeName } = attachment.spec;
    const there = this.#attachments.get(nodeName);
    there?.delete(keyOf(attachment));
    if (there?.size === 0) this.#attachments.delete(nodeName);
  }

  assumeClaim(claim: PersistentVolumeClaim): void {
    this.#claims.assume(keyOf(claim), claim);
  }

  assumeVolume(volume: PersistentVolume): void {
    this.#volumes.assume(keyOf(volume), volume);
  }

  forgetClaim(key: string): void {
    this.#claims.forget(key);
  }

  forgetVolume(name: string): void {
    this.#volumes.forget(name);
  }

  #unclass(name: string): void {
    const { storageClassName = '' } = this.#volumes.stored(name)?.spec ?? {};
    const names = this.#volumesByClass.get(storageClassName);
    names?.delete(name);
    if (names?.size === 0) this.#volumesByClass.delete(storageClassName);
  }
}

/** Objects of the API overlaid with assumed changes. A newer object from the API ends the assumption. */
class AssumeCache<T extends KubeObject> {
  readonly #stored = new Map<string, T>();
  readonly #assumed = new Map<string, T>();

  get(key: string): T | undefined {
    return this.#assumed.get(key) ?? this.#stored.get(key);
  }

  stored(key: string): T | undefined {
    return this.#stored.get(key);
  }

  set(key: string, object: T): void {
    this.#stored.set(key, object);
    if (this.#assumed.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) this.#assumed.delete(key);
  }

  remove(key: string): void {
    this.#stored.delete(key);
    this.#assumed.delete(key);
  }

  assume(key: string, object: T): void {
    this.#assumed.set(key, object);
  }

  forget(key: string): void {
    this.#assumed.delete(key);
  }
}

function keyOf({ metadata: { namespace = '', name = '' } }: KubeObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
